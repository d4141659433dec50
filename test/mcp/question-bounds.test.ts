/** [PRC-10] Questions at the wrong time, too many, too large, or without an answer. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { Inbox, until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import type { Site } from "../site.ts";
import { openAgent, textOf } from "./agent.ts";
import { agentOf, everything, heardBy, named, round, startAsking } from "./asking-server.ts";

const server = "asking";
const clock = new ManualClock();
let site: Site;

beforeAll(async () => {
  site = await startAsking({ [server]: "old", leaving: "old" }, { clock });
});
afterAll(() => site.stop());

/** An agent that keeps its questions, and answers when the test tells it to. */
async function slowAgent(alias: string, token?: string) {
  const agent = await agentOf(site, "legacy", alias, token === undefined ? {} : { token });
  const asked = new Inbox<{ message: string; answer: (name: string) => void }>("question");
  agent.setRequestHandler(
    "elicitation/create",
    ({ params }) =>
      new Promise((resolve) => {
        const answer = (name: string) => resolve({ action: "accept", content: { name } });
        asked.put({ message: params.message, answer });
      }),
  );
  return { agent, asked };
}

describe("an older server", () => {
  it("that asks outside a call gets an error, because there is no caller, and has no roots", async () => {
    await until(async () => (await heardBy(site, server)).heard.length === 2, "both answers");
    const { heard } = await heardBy(site, server);
    expect(heard).toEqual([expect.stringMatching(/^-32600 .*no call is running/), '{"roots":[]}']);
  });

  it("that asks after its answer gets the same error", async () => {
    const agent = await agentOf(site, "legacy", "leaving");
    const before = (await heardBy(site, "leaving")).heard.length;
    expect(textOf(await agent.callTool({ name: "late" }))).toBe("answered");
    await until(async () => (await heardBy(site, "leaving")).heard.length > before);
    expect((await heardBy(site, "leaving")).heard.at(-1)).toMatch(
      /^-3260[01] .*(no call is running|cannot answer)/,
    );
  });

  it("that asks too many, too large or unsupported questions gets an error", async () => {
    const { agent, asked } = await slowAgent(server);
    expect(textOf(await agent.callTool({ name: "flood" }))).toBe("32 refused");
    expect(asked.waiting).toHaveLength(8);
    const quick = await agentOf(site, "legacy", server);
    quick.setRequestHandler("elicitation/create", () => named("Ada") as never);
    expect(textOf(await quick.callTool({ name: "endless" }))).toMatch(/^100 -32600 .*at most 100 questions/);
    expect(textOf(await quick.callTool({ name: "huge" }))).toMatch(/^-32602 .*at most 262144 bytes/);
    expect(textOf(await quick.callTool({ name: "unknown" }))).toMatch(/^-32601 /);
  });

  it("that exits with an open question fails its call, in a session and between two rounds", async () => {
    const { agent, asked } = await slowAgent("leaving");
    const call = agent.callTool({ name: "leave" });
    const questions = [await asked.take(), await asked.take()];
    questions.find(({ message }) => message === "Two?")?.answer("Ada");
    expect(textOf(await call)).toMatch(/^device_disconnected: /);
    // The longest first pause before it is started again.
    clock.advance(1_000);
    await until(async () => (await site.device("leaving"))["online"] === true);
    let last = await round(site, "leaving", "leave");
    while (last.result?.resultType === "input_required") {
      const requests = last.result.inputRequests ?? {};
      const two = Object.keys(requests).find((key) => requests[key]?.params.message === "Two?");
      const answers = two === undefined ? {} : { [two]: named("Ada") };
      last = await round(site, "leaving", "leave", { state: last.result.requestState, answers });
    }
    expect(last.result?.content?.[0]?.text).toMatch(/^device_disconnected: /);
  });
});

describe("a call whose caller is asked", () => {
  const args = { device: server, tool: "name", arguments: {}, timeoutMs: 1_000 };

  it("has its deadline paused for at most five minutes, in a session", async () => {
    const { agent, asked } = await slowAgent(server);
    const plain = await openAgent(site, "legacy", { capabilities: everything });
    plain.setRequestHandler("elicitation/create", async () => {
      clock.advance(200_000);
      return named("Ada") as never;
    });
    expect(textOf(await plain.callTool({ name: "device_call", arguments: args }))).toBe("accept Ada");
    const call = agent.callTool({ name: "name" });
    await asked.take();
    clock.advance(300_000);
    expect(textOf(await call)).toMatch(/^device_timeout: the caller did not answer/);
  });

  it("ends after five minutes between two rounds, and the agent gets an error when it comes back", async () => {
    const { result } = await round(site, server, "name");
    const state = result?.requestState;
    const [key = ""] = Object.keys(result?.inputRequests ?? {});
    clock.advance(300_000);
    const late = await round(site, server, "name", { state, answers: { [key]: named("Ada") } });
    expect(late.result?.content?.[0]?.text).toMatch(/^device_timeout: the caller did not answer/);
  });

  it("is cancelled with the agent's request or its token", async () => {
    const { givenUp: before } = await heardBy(site, server);
    const { result } = await round(site, server, "hang");
    const hangUp = new AbortController();
    const answers = Object.fromEntries(
      Object.keys(result?.inputRequests ?? {}).map((key) => [key, named("Ada")]),
    );
    const going = round(site, server, "hang", {
      state: result?.requestState,
      answers,
      signal: hangUp.signal,
    });
    await until(async () => (await site.device(server))["queuedCalls"] === 0);
    hangUp.abort();
    await expect(going).rejects.toThrow();
    await until(async () => (await heardBy(site, server)).givenUp === before + 1);
    clock.advance(61_000);
    const { id, token } = await makeToken(site, {});
    expect((await round(site, server, "name", { token })).result?.resultType).toBe("input_required");
    await site.rest("DELETE", `/tokens/${id}`);
    await until(async () => (await heardBy(site, server)).givenUp === before + 2);
  });

  it("never gets the questions of another caller's cancelled call", async () => {
    clock.advance(61_000);
    const ada = await slowAgent(server, (await makeToken(site, {})).token);
    const bob = await slowAgent(server, (await makeToken(site, {})).token);
    const { heard: before } = await heardBy(site, server);
    const giveUp = new AbortController();
    const call = ada.agent.callTool({ name: "stubborn" }, { signal: giveUp.signal });
    await ada.asked.take();
    giveUp.abort();
    await expect(call).rejects.toThrow();
    await until(async () => (await heardBy(site, server)).heard.length === before.length + 3);
    expect(textOf(await bob.agent.callTool({ name: "try" }))).toMatch(/^-32600 another caller's call/);
    const own = ada.agent.callTool({ name: "try" });
    (await ada.asked.take()).answer("Ada");
    expect(textOf(await own)).toContain('"name":"Ada"');
    clock.advance(61_000);
    const later = bob.agent.callTool({ name: "try" });
    (await bob.asked.take()).answer("Bob");
    expect(textOf(await later)).toContain('"name":"Bob"');
  });
});
