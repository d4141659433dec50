/** A device's result for an agent: images beside data, and progress right before the result. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VirtualDevice } from "@tendon/simulator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { type Site, startSite } from "../site.ts";
import { eras, openAgent } from "./agent.ts";

const program = path.join(fileURLToPath(new URL("../programs", import.meta.url)), "mcp-results.mjs");
const mac = "02:00:00:00:00:07";
const clientId = "77777777-7777-4777-8777-777777777777";

let site: Site;
let board: VirtualDevice;

beforeAll(async () => {
  const entry = { command: process.execPath, protocol: "mcp" as const };
  const stdio = [
    { ...entry, alias: "newer", args: [program] },
    { ...entry, alias: "older", args: [program, "older"] },
  ];
  site = await startSite({ config: { devices: { stdio } } });
  const { websocket } = site.tendon.provision(mac, clientId);
  board = new VirtualDevice({ board: { mac, clientId, name: "camera" }, ...websocket });
  await board.connect();
  for (const device of ["newer", "older", mac]) await site.listed(device);
  await until(async () => (await site.device("older"))["online"] === true, "the program");
});

afterAll(async () => {
  await board.stop();
  await site.stop();
});

function kindsOf(result: { readonly content?: unknown }): string[] {
  return (result.content as { type: string }[]).map(({ type }) => type);
}

describe.each(eras)("a result for an agent of the %s era", (era) => {
  it("[SRV-13] has a board's image without data beside it", async () => {
    const agent = await openAgent(site, era, { at: "/mcp/flat" });
    const { alias } = await site.device(mac);
    const args = { question: "What is this?" };
    const name = `${String(alias)}__camera_take_photo`;
    const byName = await agent.callTool({ name, arguments: args });
    const tool = "self.camera.take_photo";
    const compact = { name: "device_call", arguments: { device: mac, tool, arguments: args } };
    for (const result of [byName, await agent.callTool(compact)]) {
      expect(kindsOf(result)).toEqual(["text", "image"]);
      expect(result.structuredContent).toBeUndefined();
    }
  });

  it("[SRV-13] has data beside an image if the listed tool declares it, and loses none", async () => {
    const agent = await openAgent(site, era, { at: "/mcp/flat" });
    const { tools } = await agent.listTools();
    expect(tools.find(({ name }) => name === "newer__declared")?.outputSchema).toBeDefined();
    const plain = await agent.callTool({ name: "newer__picture", arguments: {} });
    expect([kindsOf(plain), plain.structuredContent]).toEqual([["text", "image"], undefined]);
    const declared = await agent.callTool({ name: "newer__declared", arguments: {} });
    expect(declared.structuredContent).toEqual({ seen: "a cat" });
    const compact = { name: "device_call", arguments: { device: "newer", tool: "declared" } };
    expect((await agent.callTool(compact)).structuredContent).toBeUndefined();
    const wordless = await agent.callTool({ name: "newer__wordless", arguments: {} });
    expect(wordless.structuredContent).toBeUndefined();
    expect(wordless.content).toEqual([
      { type: "text", text: '{"seen":"a cat"}' },
      expect.objectContaining({ type: "image" }),
    ]);
  });

  it.each(["newer", "older"])("[SRV-14] follows all progress of a program of the %s era", async (device) => {
    const agent = await openAgent(site, era, { at: `/mcp/devices/${device}` });
    for (let call = 1; call <= 24; call += 1) {
      const steps: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
      await agent.callTool({ name: "steps", arguments: {} }, { onprogress });
      expect(steps, `call ${call}`).toEqual([1, 2, 3]);
    }
  });
});
