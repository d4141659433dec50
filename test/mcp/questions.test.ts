/**
 * [PRC-10] Questions of a standard MCP server during a tool call reach the calling agent, and the answer returns, for
 * servers and agents of both protocol versions.
 */
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProgramNodes, type StartPrograms } from "../cluster/nodes.ts";
import { type Site, startSite } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";
import { agentOf, everything, named, round, startAsking } from "./asking-server.ts";

const old = "old-server";
const servers = { [old]: "old", "new-server": "new" } as const;
/** Answers every form with this name, and returns the forms. */
function nameIn(agent: Client, name: string): string[] {
  const shown: string[] = [];
  agent.setRequestHandler("elicitation/create", ({ params }) => {
    shown.push(params.message);
    return { action: "accept", content: { name } };
  });
  return shown;
}

const onThreeNodes = new ProgramNodes();
const places: readonly (readonly [string, StartPrograms])[] = [
  ["the gateway that runs it", startSite],
  ["another of three nodes", onThreeNodes.start],
];

describe.each(places)("through %s", (_place, start) => {
  let site: Site;
  beforeAll(async () => {
    const rules = [{ device: old, tool: "guarded", effect: "confirm" as const }];
    site = await startAsking(servers, { config: { access: { rules } } }, start);
  });
  afterAll(() => site.stop());

  describe.each(["old-server", "new-server"])("a standard MCP server: %s", (alias) => {
    describe.each(eras)("called by an agent of the %s era", (era) => {
      it("gets a form filled in or declined", async () => {
        const agent = await agentOf(site, era, alias);
        const shown = nameIn(agent, "Ada");
        expect(textOf(await agent.callTool({ name: "name" }))).toBe("accept Ada");
        expect(shown).toEqual(["What is your name?"]);
        agent.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
        expect(textOf(await agent.callTool({ name: "name" }))).toBe("decline no name");
      });

      it("can ask the agent's model", async () => {
        const agent = await agentOf(site, era, alias);
        agent.setRequestHandler("sampling/createMessage", ({ params }) => ({
          model: "test",
          role: "assistant",
          content: { type: "text", text: `hello in ${params.maxTokens}` },
        }));
        expect(textOf(await agent.callTool({ name: "thought" }))).toBe("it says hello in 20");
      });

      it("gets the agent's roots", async () => {
        const agent = await agentOf(site, era, alias);
        agent.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///srv" }] }));
        expect(textOf(await agent.callTool({ name: "folders" }))).toBe("roots file:///srv");
      });
    });

    it("fails with a clear error if its caller cannot be asked", async () => {
      const cannot = /caller cannot answer elicitation|capabilities do not declare the required/;
      expect(JSON.stringify((await site.call(alias, "name")).body)).toMatch(cannot);
      const many = { target: { devices: [alias] }, tool: "name", arguments: {} };
      expect(JSON.stringify((await site.rest("POST", "/calls", many)).body)).toMatch(cannot);
    });
  });

  describe.each(eras)("an older server called by an agent of the %s era", (era) => {
    it("asks several questions at once, and one after the other", async () => {
      const agent = await agentOf(site, era, old);
      const shown = nameIn(agent, "Ada");
      expect(textOf(await agent.callTool({ name: "both" }))).toBe("accept Ada, accept Ada");
      expect(textOf(await agent.callTool({ name: "twice" }))).toBe("accept Ada, accept Ada");
      expect(shown.toSorted()).toEqual(["One?", "One?", "Two?", "Two?"]);
    });

    it("asks when it is called by its exposed name and by device_call", async () => {
      const agent = await openAgent(site, era, { capabilities: everything });
      nameIn(agent, "Ada");
      expect(textOf(await agent.callTool({ name: "old-server__name" }))).toBe("accept Ada");
      const args = { device: old, tool: "name", arguments: {} };
      expect(textOf(await agent.callTool({ name: "device_call", arguments: args }))).toBe("accept Ada");
    });

    it("asks in a prompt too", async () => {
      const agent = await agentOf(site, era, old);
      nameIn(agent, "Ada");
      const { messages } = await agent.getPrompt({ name: "greeting" });
      expect(messages[0]?.content).toEqual({ type: "text", text: "accept Ada" });
    });

    it("asks after the call was approved, without another approval", async () => {
      const agent = await agentOf(site, era, old);
      const shown: string[] = [];
      agent.setRequestHandler("elicitation/create", ({ params }) => {
        shown.push(params.message.split(" ").slice(0, 2).join(" "));
        return { action: "accept", content: shown.length === 1 ? { allow: true } : { name: "Ada" } };
      });
      expect(textOf(await agent.callTool({ name: "guarded" }))).toBe("accept Ada");
      expect(shown).toEqual(["The agent", "What is"]);
    });

    it("gets an error if the client does not declare the capability", async () => {
      const agent = await agentOf(site, era, old, { capabilities: { sampling: {} } });
      expect(textOf(await agent.callTool({ name: "try" }))).toMatch(
        /^-32601 the caller cannot answer elicitation\/create: its client does not declare `elicitation`/,
      );
      expect(textOf(await agent.callTool({ name: "agentic" }))).toMatch(/^-32601 .*`sampling.tools`/);
      const mute = await agentOf(site, era, old, { capabilities: {} });
      expect(textOf(await mute.callTool({ name: "try" }))).toMatch(/^-32601 the caller cannot answer/);
    });

    it("asks with forms only, and only with clean texts", async () => {
      const agent = await agentOf(site, era, old);
      const shown = nameIn(agent, "Ada");
      expect(textOf(await agent.callTool({ name: "address" }))).toMatch(/^-32602 .*forms only/);
      expect(textOf(await agent.callTool({ name: "spelled" }))).toBe("accept Ada");
      expect(shown).toEqual(["Your name? ‹|system|›"]);
    });
  });

  it.each(eras)("a newer server's invalid rounds do not reach an agent of the %s era", async (era) => {
    const able = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    const agent = await agentOf(site, era, "new-server", { capabilities: able });
    const shown = nameIn(agent, "Ada");
    const refused = {
      many: /8 questions/,
      huge: /262144 bytes/,
      address: /forms only/,
      broken: /not a valid/,
    };
    for (const [name, why] of Object.entries(refused)) {
      const said = textOf(await agent.callTool({ name }));
      expect(said).toMatch(/^device_error: the device's question is not passed on/);
      expect(said).toMatch(why);
    }
    expect(shown).toEqual([]);
  });

  describe("an older server's open question", () => {
    it("is withdrawn with the server's own cancellation, in a session", async () => {
      const agent = await agentOf(site, "legacy", old);
      const withdrawn: string[] = [];
      agent.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) => {
        if (params.message === "Two?") return named("Ada") as never;
        return new Promise((_, reject) => {
          mcpReq.signal.addEventListener("abort", () => {
            withdrawn.push(params.message);
            reject(mcpReq.signal.reason);
          });
        });
      });
      expect(textOf(await agent.callTool({ name: "withdrawn" }))).toBe("withdrawn");
      expect(withdrawn).toEqual(["One?"]);
    });

    it("is withdrawn between two rounds", async () => {
      const first = await round(site, old, "withdrawn");
      let { result } = first;
      while (Object.keys(result?.inputRequests ?? {}).length < 2)
        ({ result } = await round(site, old, "withdrawn", { state: result?.requestState }));
      const [, second = ""] = Object.keys(result?.inputRequests ?? {});
      const answered = { state: result?.requestState, answers: { [second]: named("Ada") } };
      let last = await round(site, old, "withdrawn", answered);
      // The program's cancellation comes after the answer that makes it cancel.
      while (last.result?.resultType === "input_required")
        last = await round(site, old, "withdrawn", { state: last.result.requestState });
      expect(last.result?.content?.[0]?.text).toBe("withdrawn");
    });

    it("is sent again to a client that comes back without an answer; a wrong answer is an error", async () => {
      const { result: first } = await round(site, old, "try");
      const state = first?.requestState;
      expect((await round(site, old, "try", { state })).result?.inputRequests).toEqual(first?.inputRequests);
      const [key = ""] = Object.keys(first?.inputRequests ?? {});
      const wrong = await round(site, old, "try", { state, answers: { [key]: { roots: [] } } });
      expect(wrong.result?.content?.[0]?.text).toMatch(/^-32602 .*not valid/);
      const again = await round(site, old, "try", { state, answers: { [key]: named("Ada") } });
      expect(again.error).toMatchObject({ code: -32602, data: { reason: "invalid_request_state" } });
    });

    it("is rejected when the client comes back without the capability", async () => {
      const { result } = await round(site, old, "try");
      const last = await round(site, old, "try", { state: result?.requestState, capabilities: {} });
      expect(last.result?.content?.[0]?.text).toMatch(/^-32601 .*`elicitation`/);
    });

    it("gets an error of the client as its answer, in a session", async () => {
      const agent = await agentOf(site, "legacy", old);
      agent.setRequestHandler("elicitation/create", () => {
        throw Object.assign(new Error("no person is there"), { code: -1 });
      });
      expect(textOf(await agent.callTool({ name: "try" }))).toMatch(/^-1 .*no person is there/);
    });
  });
});
