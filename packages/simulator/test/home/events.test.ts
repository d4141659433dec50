import path from "node:path";
import { describe, expect, it } from "vitest";
import { openHome } from "../../src/index.ts";
import { type HomeClient, homeClient } from "./home-client.ts";
import { homeFolder } from "./home-folder.ts";

const settings = `
features: [presence, climate, scenes]
scenes: { cine: { lights: { salon: true, cocina: true }, alarm: true, thermostat: 22 } }
`;

async function shared(
  events: boolean,
): Promise<{ client: HomeClient; other: Awaited<ReturnType<typeof openHome>>["home"] }> {
  const data = homeFolder({ "home.yaml": settings });
  const { home, stateFile } = await openHome({ data });
  expect(stateFile).toBe(path.join(data, "home.json"));
  const client = await homeClient({ home, stateFile, events });
  return { client, other: (await openHome({ data })).home };
}

const event = (name: string, data: object) => JSON.stringify({ type: "event", event: name, data });

describe("events", () => {
  it("report the client's own changes, after the answer", async () => {
    const client = await homeClient({ events: true });
    expect(await client.call("set_light_state", { name: "salon", on: true })).toEqual({ ok: true });
    expect(await client.next()).toBe(event("light_changed", { name: "salon", on: true }));
    expect(await client.call("set_alarm_state", { armed: true })).toEqual({ ok: true });
    expect(await client.next()).toBe(event("alarm_changed", { armed: true }));
    // Without a change there is no event.
    expect(await client.call("set_alarm_state", { armed: true })).toEqual({ ok: true });
    expect(await client.call("get_alarm_status")).toEqual({ armed: true });
  });

  it("report each of several changes that were sent at once", async () => {
    const client = await homeClient({ events: true });
    const line = (id: number, on: boolean) =>
      JSON.stringify({ type: "call", id, tool: "set_light_state", args: { name: "bano", on } });
    client.send(line(1, true), line(2, false));
    expect(await client.next()).toContain('"id":1');
    expect(await client.next()).toBe(event("light_changed", { name: "bano", on: true }));
    expect(await client.next()).toContain('"id":2');
    expect(await client.next()).toBe(event("light_changed", { name: "bano", on: false }));
  });

  it("report changes by another process", async () => {
    const { client, other } = await shared(true);
    other.call("set_light_state", { name: "garage", on: true });
    expect(await client.next()).toBe(event("light_changed", { name: "garage", on: true }));
    other.changePeople(() => ["Ana", "Luis"]);
    expect(await client.next()).toBe(event("person_arrived", { person: "Ana" }));
    expect(await client.next()).toBe(event("person_arrived", { person: "Luis" }));
    expect(await client.next()).toBe(event("presence_changed", { present: true }));
    other.changePeople((people) => people.filter((name) => name !== "Ana"));
    expect(await client.next()).toBe(event("person_left", { person: "Ana" }));
    other.call("activate_scene", { name: "cine" });
    expect(await client.next()).toBe(event("scene_activated", { name: "cine" }));
    expect(await client.next()).toBe(event("light_changed", { name: "salon", on: true }));
    expect(await client.next()).toBe(event("light_changed", { name: "cocina", on: true }));
    expect(await client.next()).toBe(event("alarm_changed", { armed: true }));
    expect(await client.next()).toBe(event("thermostat_changed", { target: 22 }));
    client.server.stop();
    expect(await client.server.ended).toBe("stopped");
  });

  it("are not sent to a client without --events, which sees the change in its next call", async () => {
    const { client, other } = await shared(false);
    other.call("set_light_state", { name: "garage", on: true });
    expect(await client.call("list_lights_on")).toEqual({ on: ["garage"] });
    client.server.stop();
  });

  it("are sent once when the client's call and another process make the same change", async () => {
    const { client, other } = await shared(true);
    other.call("set_alarm_state", { armed: true });
    client.send('{"type":"call","id":1,"tool":"get_alarm_status"}', '{"type":"quit"}');
    const lines = [await client.next(), await client.next()];
    expect(lines.sort()).toEqual([
      event("alarm_changed", { armed: true }),
      '{"type":"result","id":1,"ok":true,"result":{"armed":true}}',
    ]);
    await client.server.ended;
    expect(client.output.read()).toBeNull();
  });

  it("do not accumulate: a client that does not read gets the remaining difference later", async () => {
    const { client, other } = await shared(true);
    client.output.pause();
    const call = JSON.stringify({ type: "call", id: 1, tool: "get_all_states" });
    client.send(...Array.from({ length: 500 }, () => call));
    await new Promise((resolve) => setImmediate(resolve));
    expect(client.output.writableNeedDrain).toBe(true);
    for (let round = 0; round < 50; round += 1) {
      other.call("set_light_state", { name: "salon", on: round % 2 === 0 });
    }
    other.call("set_light_state", { name: "bano", on: true });
    client.output.resume();
    for (let count = 0; count < 500; count += 1) expect(await client.next()).toContain('"type":"result"');
    expect(await client.next()).toBe(event("light_changed", { name: "bano", on: true }));
    client.server.stop();
  });
});
