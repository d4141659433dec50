/** Recent and running calls, read from any node. */
import { describe, expect, it } from "vitest";
import { desk, startBoard } from "../console/console-site.ts";
import type { Json } from "../http-client.ts";
import { until } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();

async function twoNodes(): Promise<readonly [Site, Site]> {
  const fleet = await engines.newFleet();
  const [one, two] = await fleet.nodes(2);
  if (one === undefined || two === undefined) throw new TypeError("two nodes were asked for");
  return [one, two];
}

async function running(site: Site): Promise<Record<string, Json>[]> {
  return (await site.rest("GET", "/calls/running")).body["calls"] as unknown as Record<string, Json>[];
}

describe("a call that another node made", () => {
  it("[CON-8] is listed while it runs, and has its answer on every node", async () => {
    const [one, two] = await twoNodes();
    const device = await one.join({ tools: [tool("read", { room: { type: "string" } })] });
    await two.listed(device.id);
    const call = two.call(device.id, "read", { room: "hall" });
    const { id } = await device.nextRequest("tools/call");
    for (const site of [one, two]) {
      await until(async () => (await running(site)).length === 1, "the running call");
      const [found] = await running(site);
      expect(found).toMatchObject({ device: device.id, tool: "read", phase: "device" });
      const trace = await site.rest("GET", `/calls/${String(found?.["callId"])}`);
      expect(trace.body).toMatchObject({ state: "running", arguments: { room: "hall" } });
    }
    device.reply(id, textContent("21 degrees"));
    const callId = String((await call).body["callId"]);
    for (const site of [one, two]) {
      const at = `/calls/${callId}`;
      await until(
        async () => (await site.rest("GET", at)).body["state"] === "finished",
        "the end of the call",
      );
      expect((await site.rest("GET", at)).body).toMatchObject({
        arguments: { room: "hall" },
        answer: { content: [{ type: "text", text: "21 degrees" }] },
        origin: { via: "rest" },
      });
      const frames = await site.rest("GET", `/devices/${device.id}/frames?call=${callId}`);
      expect(frames.body["frames"]).toMatchObject([{ way: "out" }, { way: "in" }]);
      const list = await site.rest("GET", "/calls?preview=true");
      expect(list.body["calls"]).toEqual([
        expect.objectContaining({ preview: { arguments: 'room: "hall"', answer: "21 degrees" } }),
      ]);
    }
  }, 60_000);

  it("[CON-8] has its photo on every node", async () => {
    const [one, two] = await twoNodes();
    await startBoard(one, desk, "desk");
    await two.listed(desk);
    const { body } = await two.call(desk, "self.camera.take_photo", { question: "?" });
    for (const site of [one, two]) {
      const at = `/calls/${String(body["callId"])}`;
      await until(
        async () => (await site.rest("GET", at)).body["picture"] === true,
        "the trace with a photo",
      );
      const picture = await site.rest("GET", `${at}/picture`);
      expect(picture.headers["content-type"]).toBe("image/jpeg");
    }
  }, 60_000);
});
