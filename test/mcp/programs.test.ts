/** [PRC-9] A standard MCP server as a device at its own address: resources, prompts, progress and log lines. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ProgramNodes, type StartPrograms } from "../cluster/nodes.ts";
import { until } from "../inbox.ts";
import { type Site, startSite } from "../site.ts";
import { type Era, eras, openAgent, textOf, watchResources } from "./agent.ts";

const program = fileURLToPath(new URL("../programs/mcp-notes.mjs", import.meta.url));
const onThreeNodes = new ProgramNodes();
const places: readonly (readonly [string, StartPrograms])[] = [
  ["the gateway that runs it", startSite],
  ["another of three nodes", onThreeNodes.start],
];

async function open(start: StartPrograms, ...args: readonly string[]): Promise<Site> {
  const command = { command: process.execPath, args: [program, ...args] };
  const stdio = [{ alias: "notes", ...command, protocol: "mcp", restart: "always" } as const];
  const site = await start({ config: { devices: { stdio } } });
  await site.listed("notes");
  return site;
}

function agentOf(site: Site, era: Era) {
  return openAgent(site, era, { at: "/mcp/devices/notes" });
}

describe.each(places)("through %s", (_place, start) => {
  let site: Site;
  beforeAll(async () => {
    site = await open(start);
  });
  afterAll(() => site.stop());

  describe.each(eras)("to an agent of the %s era", (era) => {
    it("forwards its resources, and notifies about changes", async () => {
      const agent = await agentOf(site, era);
      const { resources } = await agent.listResources();
      expect(resources.map(({ uri }) => uri)).toContain("notes://today");
      const changed = await watchResources(agent, era, ["notes://today"]);
      await agent.callTool({ name: "write", arguments: { text: "buy milk" } });
      expect(await changed.take()).toBe("notes://today");
      const { contents } = await agent.readResource({ uri: "notes://today" });
      expect(contents).toMatchObject([{ text: "buy milk" }]);
      const fleet = await openAgent(site, era);
      await expect(fleet.readResource({ uri: "notes://today" })).rejects.toMatchObject({ code: -32602 });
    });

    it("notifies about changes after it was restarted", async () => {
      const agent = await agentOf(site, era);
      const changed = await watchResources(agent, era, ["notes://today"]);
      await agent.callTool({ name: "end" }).catch(() => undefined);
      // The subscription is renewed shortly after the program is back.
      await until(async () => {
        await site.call("notes", "write", { text: "back" });
        return changed.waiting.length > 0;
      }, "an update of the resource");
      expect(await changed.take()).toBe("notes://today");
    });

    it("forwards prompts and completions", async () => {
      const agent = await agentOf(site, era);
      expect((await agent.listPrompts()).prompts).toMatchObject([{ name: "summary" }]);
      const { messages } = await agent.getPrompt({ name: "summary", arguments: { style: "short" } });
      expect(messages).toMatchObject([{ content: { text: "Summarise the notes: short" } }]);
      const { completion } = await agent.complete({
        ref: { type: "ref/prompt", name: "summary" },
        argument: { name: "style", value: "sh" },
      });
      expect(completion.values).toEqual(["short"]);
    });

    it("reports its progress before the result", async () => {
      const agent = await agentOf(site, era);
      const progress: number[] = [];
      const counted = await agent.callTool(
        { name: "count", arguments: { to: 20 } },
        { onprogress: (step) => progress.push(step.progress) },
      );
      expect(textOf(counted)).toBe("counted");
      expect(progress.at(-1)).toBe(20);
      expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    });

    it("forwards its own error codes", async () => {
      const agent = await agentOf(site, era);
      await expect(agent.readResource({ uri: "notes://broken" })).rejects.toMatchObject({ code: -32050 });
    });
  });

  it("forwards a notification of an administrator", async () => {
    const older = await open(start, "old");
    onTestFinished(() => older.stop());
    const params = { requestId: "none", reason: "by-hand" };
    const message = { jsonrpc: "2.0", method: "notifications/cancelled", params };
    expect((await older.rest("POST", "/devices/notes/mcp", message)).status).toBe(202);
    expect((await older.call("notes", "watched")).body["result"]).toMatchObject({
      content: [{ text: "by-hand" }],
    });
  });

  it("ends the subscription when the last agent disconnects", async () => {
    const older = await open(start, "old");
    onTestFinished(() => older.stop());
    const agent = await agentOf(older, "legacy");
    await agent.subscribeResource({ uri: "notes://today" });
    expect((await older.call("notes", "watched")).body["result"]).toMatchObject({
      content: [{ text: "notes://today" }],
    });
    await agent.unsubscribeResource({ uri: "notes://today" });
    await until(async () => {
      const { body } = await older.call("notes", "watched");
      return (body["result"] as { content: { text: string }[] }).content[0]?.text === "";
    }, "no subscription");
  });
});
