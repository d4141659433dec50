/** A large fleet of records without connections, which is listed and searched. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { ToolDefinition } from "@tendon/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storeFleet } from "../../packages/gateway/test/store/stored-fleet.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Site, startSite } from "../site.ts";
import { TurnMeter } from "../turn-meter.ts";
import { initialize, modern, openSession, say } from "./rpc.ts";

const devices = 2_000;
const tools: ToolDefinition[] = Array.from({ length: 10 }, (_, index) => ({
  name: `self.part_${index}.set_level`,
  description: `Sets the level of part ${index}, such as its volume or brightness, at once or slowly`,
  inputSchema: { type: "object", properties: { level: { type: "integer" }, fade: { type: "boolean" } } },
  audience: "agent",
  repairs: [],
}));

const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
let site: Site;

beforeAll(async () => {
  await storeFleet(data, devices, tools);
  site = await startSite({ config: { data }, clock: new ManualClock() });
});
afterAll(async () => {
  await site.stop();
  fs.rmSync(data, { recursive: true, force: true });
});

async function page(session: string, cursor: unknown): Promise<{ names: string[]; nextCursor: unknown }> {
  const params = cursor === undefined ? {} : { cursor };
  const { body } = await say(site, {
    at: "/mcp/flat",
    headers: { "mcp-session-id": session },
    body: { jsonrpc: "2.0", id: 2, method: "tools/list", params },
  });
  const { tools: listed, nextCursor } = body["result"] as unknown as {
    tools: { name: string }[];
    nextCursor?: string;
  };
  return { names: listed.map(({ name }) => name), nextCursor };
}

describe("a large fleet", () => {
  it("[SRV-17] is searched and listed in many short turns of the event loop, never in one long one", async () => {
    // Excludes what is loaded with the first agent.
    await say(site, { at: "/mcp/devices/device-1", body: initialize() });

    const searching = new TurnMeter();
    const query = { name: "tools_search", arguments: { query: "louder on floor-7" } };
    const found = await say(site, { ...modern("tools/call", query), at: "/mcp/compact" });
    expect(searching.stop()).toBeLessThan(0.5);
    expect(found.text).toContain("set_level");

    const listing = new TurnMeter();
    const session = await openSession(site, { at: "/mcp/flat" });
    const names: string[] = [];
    let next: unknown;
    do {
      const { names: some, nextCursor } = await page(session, next);
      names.push(...some);
      next = nextCursor;
    } while (next !== undefined);
    expect(listing.stop()).toBeLessThan(0.25);
    const ofDevices = names.slice(7);
    expect(ofDevices).toHaveLength(devices * tools.length);
    expect(ofDevices).toEqual([...ofDevices].sort());
  });

  it("[SRV-17] continues after the cursor's tool, even if its device was renamed", async () => {
    const session = await openSession(site, { at: "/mcp/flat" });
    const { names, nextCursor } = await page(session, undefined);
    const last = names.at(-1) ?? "";
    const [alias = ""] = last.split("__");
    await site.rest("PATCH", `/devices/${alias}`, { alias: "zz-last" });
    const after = await page(session, nextCursor);
    expect(after.names.every((name) => name > last && !names.includes(name))).toBe(true);
  });
});
