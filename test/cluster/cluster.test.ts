/** Gateways that share one fleet: each node can use the devices of the others. */
import { connect, headers } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { Speaker, stockTools, volumeTool } from "../control/speaker.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { MqttApp } from "../mqtt-app.ts";
import { type RawDevice, tool } from "../raw-device.ts";
import { adminToken, firstDevice, type Site } from "../site.ts";
import { Engines, type Fleet } from "./nodes.ts";

const engines = new Engines();
const volume = tool("self.audio_speaker.set_volume", { volume: { type: "integer" } }, ["volume"]);
const done = { content: [{ type: "text", text: "true" }], isError: false };

interface Two {
  readonly fleet: Fleet;
  readonly one: Site;
  readonly two: Site;
}

async function twoNodes(): Promise<Two> {
  const fleet = await engines.newFleet();
  const [one, two] = await fleet.nodes(2);
  if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
  return { fleet, one, two };
}

/** A device on one node that the other nodes know. */
async function joined(at: Site, ...others: readonly Site[]): Promise<RawDevice> {
  const device = await at.join({ tools: [volume], userTools: [tool("self.reboot")] });
  for (const other of others) await online(other, true);
  return device;
}

async function online(site: Site, wanted: boolean): Promise<void> {
  await until(async () => {
    const { online: is, toolCount } = await site.device(firstDevice);
    return is === wanted && (!wanted || toolCount === 2);
  }, `online: ${wanted}`);
}

async function answerOne(device: RawDevice): Promise<void> {
  const { id } = await device.nextRequest("tools/call");
  device.reply(id, done);
}

function call(site: Site, more = {}) {
  return site.call(firstDevice, volume.name, { volume: 30 }, more);
}

describe("a device on another node", () => {
  it("is listed and called like a local one", async () => {
    const { one, two } = await twoNodes();
    const device = await joined(one, two);
    expect(await two.toolNames(firstDevice)).toEqual(await one.toolNames(firstDevice));
    const calling = call(two);
    const sent = await device.nextRequest("tools/call");
    expect(sent.params).toMatchObject({ name: volume.name, arguments: { volume: 30 } });
    device.reply(sent.id, done);
    const { status, body } = await calling;
    expect([status, body]).toMatchObject([200, { device: firstDevice, result: { isError: false } }]);
    // Every node has the same single history entry.
    for (const site of [one, two]) {
      await until(async () => {
        const { body } = await site.rest("GET", "/calls");
        return (body["calls"] as { callId: string }[]).map(({ callId }) => callId).join() === sentId(body);
      });
    }
    function sentId(answer: { [key: string]: unknown }): string {
      expect((answer["calls"] as unknown[]).length).toBeLessThanOrEqual(1);
      return String(body["callId"]);
    }
  });

  it("[DEV-10] keeps its new connection to this node when the store answers late about the old one", async () => {
    const { fleet, one, two } = await twoNodes();
    const unlock = await engines.postgres.lockTable(fleet.storage, "tendon_devices");
    const reading = () => engines.postgres.waitingForLock(fleet.storage, "select");
    const before = await one.join({ tools: [volume] });
    await until(async () => (await reading()) > 0, "the other node reads the device");
    // The directory does not get the new claim before the old one has been read.
    engines.nats.freeze();
    onTestFinished(() => engines.nats.thaw());
    before.cut();
    const now = await two.join({ tools: [volume] });
    await unlock();
    await until(async () => (await reading()) === 0, "the device has been read");
    const calling = call(two);
    await answerOne(now);
    expect((await calling).status).toBe(200);
    engines.nats.thaw();
    expect(await two.device(firstDevice)).toMatchObject({ online: true });
  });

  it("[CTL-7] that was muted on one node is unmuted on the other after it moved, once", async () => {
    const { one, two } = await twoNodes();
    const act = (site: Site, action: string) =>
      site.rest("POST", `/devices/${firstDevice}/control`, { action });
    const here = new Speaker(await one.join({ tools: stockTools }), 35);
    expect((await act(one, "mute")).body).toMatchObject({ ok: true });
    here.device.cut();
    const there = new Speaker(await two.join({ tools: stockTools }), here.volume);
    expect((await act(two, "unmute")).body).toMatchObject({ ok: true, tools: [volumeTool] });
    expect(there.volume).toBe(35);
    expect((await act(two, "unmute")).body).toMatchObject({ ok: true, tools: [] });
  });

  it("[CTL-7] is unmuted to the level that was set last, on any node", async () => {
    const { one, two } = await twoNodes();
    const act = (site: Site, action: string) =>
      site.rest("POST", `/devices/${firstDevice}/control`, { action });
    const first = new Speaker(await one.join({ tools: stockTools }), 35);
    await act(one, "mute");
    // A node's reply arrives after its earlier broadcasts.
    await until(
      async () => (await two.device(firstDevice))["online"] === true,
      "the device at the other node",
    );
    await two.device(firstDevice);
    first.device.cut();
    const there = new Speaker(await two.join({ tools: stockTools }), first.volume);
    expect((await two.call(firstDevice, volumeTool, { volume: 60 })).status).toBe(200);
    await act(two, "unmute");
    expect(there.volume).toBe(60);
    there.device.cut();
    const back = new Speaker(await one.join({ tools: stockTools }), there.volume);
    await act(one, "mute");
    await act(one, "unmute");
    expect(back.volume).toBe(60);
  });

  it("[MCP-16] is reported as updated when it reconnects to another node with a new version", async () => {
    const { one, two } = await twoNodes();
    const offer = { tools: [volume], userTools: [tool("self.upgrade_firmware")] };
    const device = await one.join({ ...offer, firmware: "2.4.2" });
    await online(two, true);
    const calling = two.call(firstDevice, "self.upgrade_firmware");
    await device.nextRequest("tools/call");
    device.cut();
    await online(two, false);
    await two.join({ ...offer, firmware: "2.5.0" });
    expect((await calling).body["result"]).toMatchObject({
      isError: false,
      structuredContent: { upgrade: "updated", firmwareBefore: "2.4.2", firmwareNow: "2.5.0" },
    });
  });

  it("[APP-2] is found by its session id from an app on the other node; an unknown id fails", async () => {
    const { one, two } = await twoNodes();
    const device = await one.join({ tools: stockTools });
    const { sessionId: session_id } = device;
    const speaker = new Speaker(device, 35);
    await online(two, true);
    const app = await MqttApp.open(two);
    await app.wire.subscribe("tendon/control/reply");
    const asked = { action: "set_volume", volume: 20, request_id: "r" };
    expect(await app.ask("tendon/control", { ...asked, session_id })).toMatchObject({
      request_id: "r",
      ok: true,
    });
    expect(speaker.volume).toBe(20);
    expect(await app.ask("tendon/control", { ...asked, session_id: "unknown" })).toMatchObject({
      ok: false,
      code: "device_unknown",
    });
  });

  it("fails with the same codes on every node", async () => {
    const { one, two } = await twoNodes();
    await joined(one, two);
    for (const site of [one, two]) {
      expect((await site.call(firstDevice, "no.such", {})).body["code"]).toBe("tool_unknown");
      expect((await site.call(firstDevice, volume.name, { volume: "x" })).body["code"]).toBe(
        "arguments_invalid",
      );
      const { body } = await call(site, { timeoutMs: 200 });
      expect(body).toMatchObject({ code: "device_timeout", phase: "device" });
    }
  });

  it("is free for other calls when a caller on another node disconnects", async () => {
    const { one, two } = await twoNodes();
    const device = await joined(one, two);
    const controller = new AbortController();
    const at = `/devices/${firstDevice}/tools/${volume.name}/call`;
    const hung = two.rest("POST", at, { arguments: { volume: 1 } }, {}, controller.signal);
    const first = await device.nextRequest("tools/call");
    controller.abort();
    await expect(hung).rejects.toThrow();
    const next = call(one);
    const second = await device.nextRequest("tools/call");
    expect(second.id).not.toBe(first.id);
    device.reply(second.id, done);
    expect((await next).status).toBe(200);
  });

  it("changes its volume without a race when two nodes ask at once", async () => {
    const { one, two } = await twoNodes();
    const status = tool("self.get_device_status");
    const device = await one.join({ tools: [volume, status] });
    await online(two, true);
    let level = 50;
    const serving = (async () => {
      for (let number = 0; number < 4; number += 1) {
        const { id, params } = await device.nextRequest("tools/call");
        const { name, arguments: args } = params as { name: string; arguments: { volume: number } };
        if (name === volume.name) level = args.volume;
        const text = name === volume.name ? "true" : JSON.stringify({ audio_speaker: { volume: level } });
        device.reply(id, { content: [{ type: "text", text }], isError: false });
      }
    })();
    const step = { type: "device_control", action: "volume_up" };
    const answers = await Promise.all(
      [one, two].map((site) => site.rest("POST", `/devices/${firstDevice}/control`, step)),
    );
    await serving;
    expect(answers.map(({ body }) => body["ok"])).toEqual([true, true]);
    expect(level).toBe(70);
  });
});

describe("an Idempotency-Key", () => {
  it("applies on every node: a repeat on another node waits for the first result", async () => {
    const { one, two } = await twoNodes();
    const device = await joined(one, two);
    const at = `/devices/${firstDevice}/tools/${volume.name}/call`;
    const ask = (site: Site) =>
      site.rest("POST", at, { arguments: { volume: 1 } }, { "idempotency-key": "k" });
    const first = ask(one);
    const { id } = await device.nextRequest("tools/call");
    const second = ask(two);
    device.reply(id, done);
    expect((await second).body).toEqual((await first).body);
    expect(await device.quiet()).toEqual([]);
  });
});

describe("presence", () => {
  it("follows the device to the newest node; the older connection is closed without an event", async () => {
    const { one, two } = await twoNodes();
    const old = await joined(one, two);
    const events = await two.events(`?device=${firstDevice}`);
    const fresh = await joined(two, one);
    expect((await old.wire.ended).code).toBe(1001);
    const calling = call(one);
    await answerOne(fresh);
    expect((await calling).status).toBe(200);
    await online(one, true);
    const types = [await events.next(), await events.next()].map(({ type, data }) => [type, data["reason"]]);
    expect(types).toEqual([
      ["device.offline", "a newer connection of this device took over"],
      ["device.online", undefined],
    ]);
  });

  it("ends on every node when the device disconnects; a call fails at once with `offlineSince`", async () => {
    const { one, two } = await twoNodes();
    const device = await joined(one, two);
    device.cut();
    await online(two, false);
    const { status, body } = await call(two);
    expect([status, body["code"]]).toEqual([503, "device_offline"]);
    expect(body["offlineSince"]).toEqual(expect.any(String));
  });

  it("is restored when other nodes removed it because they counted its node as failed", async () => {
    const { fleet, one, two } = await twoNodes();
    const device = await joined(one, two);
    const { connectedAt } = await two.device(firstDevice);
    const connection = await connect({ servers: engines.nats.url });
    onTestFinished(() => connection.close());
    const entry = Buffer.from(firstDevice).toString("base64url");
    const subject = `$KV.${new URL(fleet.cluster).pathname.slice(1)}_presence.${entry}`;
    const written: string[] = [];
    connection.subscribe(subject, {
      callback: (_error, message) => {
        written.push(message.headers?.get("KV-Operation") ?? "PUT");
      },
    });
    const cleared = headers();
    cleared.set("KV-Operation", "DEL");
    connection.publish(subject, "", { headers: cleared });
    await until(() => written.length === 2, "an entry again");
    // A loaded server may deliver a publisher's own message after the reaction to it.
    expect(written.toSorted()).toEqual(["DEL", "PUT"]);
    await online(two, true);
    expect(await two.device(firstDevice)).toMatchObject({ connectedAt });
    const calling = call(two);
    await answerOne(device);
    expect((await calling).status).toBe(200);
  });

  it("is known to a node that joins later", async () => {
    const { fleet, one } = await twoNodes();
    const device = await joined(one);
    const three = await fleet.node();
    await online(three, true);
    const calling = call(three);
    await answerOne(device);
    expect((await calling).status).toBe(200);
  });

  it("ends at once when its node stops, and returns with the device", async () => {
    const { one, two } = await twoNodes();
    await joined(one, two);
    await one.tendon.stop();
    await online(two, false);
    const device = await joined(two);
    const calling = call(two);
    await answerOne(device);
    expect((await calling).status).toBe(200);
  });
});

describe("a change on one node", () => {
  it("applies on the others: alias, tags, tokens, revocations, deleted devices", async () => {
    const { one, two } = await twoNodes();
    await joined(one, two);
    await two.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk", tags: ["room"] });
    expect(await one.device("desk")).toMatchObject({ alias: "desk", tags: ["room"] });
    const made = await one.rest("POST", "/tokens", { name: "t", scopes: ["read"] });
    const bearer = { authorization: `Bearer ${String(made.body["token"])}` };
    expect((await two.rest("GET", "/devices/desk", undefined, bearer)).status).toBe(200);
    await two.rest("DELETE", `/tokens/${String(made.body["id"])}`);
    expect((await one.rest("GET", "/devices/desk", undefined, bearer)).status).toBe(401);
    await two.rest("DELETE", "/devices/desk");
    expect((await one.rest("GET", "/devices/desk")).status).toBe(404);
  });

  it("reaches subscribers of all nodes once, in one order; they can resume on another node", async () => {
    const { one, two } = await twoNodes();
    const types = "?type=device.online,device.tools_changed,call.finished";
    const [here, there] = [await one.events(types), await two.events(types)];
    const device = await joined(one, two);
    for (const site of [one, two, one]) {
      const calling = call(site);
      await answerOne(device);
      await calling;
    }
    const take = async (reader: typeof here) => {
      const seen = [];
      for (let number = 0; number < 5; number += 1) seen.push(await reader.next());
      return seen;
    };
    const [ours, theirs] = [await take(here), await take(there)];
    expect(theirs).toEqual(ours);
    expect(ours.map(({ type }) => type)).toEqual([
      "device.online",
      "device.tools_changed",
      "call.finished",
      "call.finished",
      "call.finished",
    ]);
    const resumed = await two.events(types, { "last-event-id": ours[2]?.id ?? "" });
    expect([await resumed.next(), await resumed.next()]).toEqual(ours.slice(3));
  });

  it("needs a shared database", async () => {
    const { fleet } = await twoNodes();
    const { startTendon } = await import("@tendon/gateway");
    await expect(startTendon({ cluster: fleet.cluster }, { adminToken })).rejects.toThrow(/postgres/);
  });
});

describe("a console session", () => {
  it("is valid on every node, also on one that joins later, and ends on all of them", async () => {
    const { fleet, one, two } = await twoNodes();
    const page = (site: Site) => ({ origin: site.url, "x-tendon-console": "1" });
    const path = "/api/v1/session";
    const body = JSON.stringify({ secret: adminToken });
    const type = { "content-type": "application/json" };
    const signedIn = await askAll(one.url, {
      method: "POST",
      path,
      body,
      headers: { ...page(one), ...type },
    });
    expect(signedIn.status).toBe(200);
    const cookie = String(signedIn.headers["set-cookie"]).split(";")[0] ?? "";
    const three = await fleet.node();
    const look = async (site: Site) =>
      (await askAll(site.url, { path: "/api/v1/devices", headers: { cookie } })).status;
    expect([await look(one), await look(two), await look(three)]).toEqual([200, 200, 200]);
    await askAll(two.url, { method: "DELETE", path, headers: { cookie, ...page(two) } });
    await until(async () => (await look(one)) === 401 && (await look(three)) === 401, "the end everywhere");
  });
});
