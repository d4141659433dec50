/** What the guides show of `POST /api/v1/calls` is what the gateway takes and answers. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isObject, parseJson } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { textContent, tool } from "./raw-device.ts";
import { openSite } from "./site.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const name = "self.audio_speaker.set_volume";
const boards = { "02:00:00:de:30:01": "esp-box-3-3001", "02:00:00:de:30:02": "m5stack-core-s3-3002" };

function guide(file: string): string {
  return fs.readFileSync(path.join(root, file), "utf8");
}

function bodiesIn(text: string): string[] {
  const shown = /-d '([^']+)' *\\?\s+http:\/\/127\.0\.0\.1:8000\/api\/v1\/calls\n/g;
  return [...text.matchAll(shown)].map(([, body = ""]) => body);
}

describe("a call to many devices, as the guides show it", () => {
  it.each(["README.md", "docs/function-calling.md"])(
    "in %s is taken, with a result for each",
    async (file) => {
      const bodies = bodiesIn(guide(file));
      expect(bodies).toHaveLength(1);
      const site = await openSite();
      const volume = tool(name, { volume: { type: "integer" } }, ["volume"]);
      const devices = [];
      for (const [deviceId, alias] of Object.entries(boards)) {
        devices.push(await site.join({ deviceId, tools: [volume] }));
        await site.rest("PATCH", `/devices/${deviceId}`, { alias });
      }
      const answering = site.rest("POST", "/calls", parseJson(bodies[0] ?? ""));
      for (const device of devices) {
        const { id, params } = await device.nextRequest("tools/call");
        expect(params).toEqual({ name, arguments: { volume: 30 } });
        device.reply(id, textContent("true"));
      }
      const { status, body } = await answering;
      expect([status, body["ok"], body["failed"]]).toEqual([200, 2, 0]);
    },
  );

  it("has answers with the members that are shown", async () => {
    const [, shown = ""] =
      /```json\n(\{\n {2}"results"[\s\S]+?\n\})\n```/.exec(guide("docs/function-calling.md")) ?? [];
    const told = parseJson(shown);
    const site = await openSite();
    const device = await site.join({ tools: [tool(name)] });
    await site.join({ deviceId: "02:00:00:00:00:02", tools: [] });
    const answering = site.rest("POST", "/calls", { target: { all: true }, tool: name });
    device.reply((await device.nextRequest("tools/call")).id, textContent("true"));
    const { body } = await answering;
    expect(Object.keys(body).sort()).toEqual(Object.keys(isObject(told) ? told : {}).sort());
    const members = (answer: unknown) =>
      (isObject(answer) ? (answer["results"] as object[]) : []).map((result) => Object.keys(result).sort());
    expect(members(body)).toEqual(members(told));
  });
});
