import { describe, expect, it } from "vitest";
import { makeToken } from "../access/tokens.ts";
import { textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { type Era, eras, openAgent, textOf } from "./agent.ts";
import { modern, say } from "./rpc.ts";

const volume = tool("set_volume", { volume: { type: "integer" } }, ["volume"]);
const device = "02:00:00:00:00:01";
const call = { name: "device_call", arguments: { device, tool: "set_volume", arguments: { volume: 77 } } };

async function guardedSite(via: "any" | "queue" = "any"): Promise<Site> {
  // A changed tool asks again, also where it is not quarantined.
  const access = { rules: [{ tool: "set_volume", effect: "confirm" as const, via }], quarantine: false };
  return await openSite({ config: { access } });
}

/** An agent whose user answers every question in the same way, and the questions. */
async function agentWith(site: Site, era: Era, answer: object) {
  const { token } = await makeToken(site, { name: "my-agent" });
  const agent = await openAgent(site, era, { token, capabilities: { elicitation: { form: {} } } });
  const asked: string[] = [];
  const forms: unknown[] = [];
  agent.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    forms.push("requestedSchema" in params ? params.requestedSchema : undefined);
    return answer as { action: "accept" };
  });
  return { agent, asked, forms };
}

describe.each(eras)("[SRV-12] a tool that requires approval, in the %s era", (era) => {
  it("is called once the agent's user allows exactly this call", async () => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const { agent, asked, forms } = await agentWith(site, era, {
      action: "accept",
      content: { allow: true },
    });
    for (const round of [1, 2]) {
      const answer = agent.callTool(call);
      const request = await board.nextRequest("tools/call");
      expect(request.params["arguments"]).toEqual({ volume: 77 });
      board.reply(request.id, textContent("true"));
      expect(textOf(await answer)).toBe("true");
      // One permission is valid for one call.
      expect(asked).toHaveLength(round);
    }
    expect(asked[0]).toContain("my-agent");
    expect(asked[0]).toContain('{"volume":77}');
    const { alias } = await site.device(device);
    expect(forms[0]).toMatchObject({
      properties: { allow: { type: "boolean", title: `Allow set_volume on ${String(alias)}` } },
      required: ["allow"],
    });
    const { body } = await site.rest("GET", "/approvals");
    expect(body["approvals"]).toEqual([]);
  });

  const declined = /^forbidden: the user declined `set_volume`/;
  const unticked = /^forbidden: the user did not tick the box that allows `set_volume`/;

  const closed = /^cancelled: the user closed the question .* without answering.* no/s;

  it.each([
    [{ action: "decline" }, declined],
    [{ action: "cancel" }, closed],
    [{ action: "cancel", content: { allow: true } }, closed],
    [{ action: "accept", content: { allow: false } }, unticked],
    [{ action: "accept", content: {} }, unticked],
    [{ action: "accept" }, unticked],
    [{ action: "accept", content: { allow: "true" } }, unticked],
  ] as const)("is not called when the person answers %j", async (answer, words) => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const { agent } = await agentWith(site, era, answer);
    const result = await agent.callTool(call);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(words);
    expect(await board.quiet()).toEqual([]);
  });

  it.each([
    ["the client cannot ask", "any" as const, {}],
    ["the rule insists on it", "queue" as const, { elicitation: {} }],
  ])("waits for approval when %s, and the agent is told what to do", async (_why, via, capabilities) => {
    const site = await guardedSite(via);
    const board = await site.join({ tools: [volume] });
    const { token } = await makeToken(site, {});
    const agent = await openAgent(site, era, { token, capabilities });
    const held = await agent.callTool(call);
    expect(held.isError).toBe(true);
    expect(textOf(held)).toMatch(/^approval_required: /);
    expect(textOf(held)).toContain("make the same call again, with the same arguments");
    const { approvalId } = (held._meta as { "tendon/error": { approvalId: string } })["tendon/error"];
    expect((await site.rest("POST", `/approvals/${approvalId}/approve`)).status).toBe(200);
    const answer = agent.callTool(call);
    board.reply((await board.nextRequest("tools/call")).id, textContent("true"));
    expect(textOf(await answer)).toBe("true");
  });

  it("asks again after a dismissed question, which is neither a yes nor a no", async () => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const said: { action: string; content?: object } = { action: "cancel" };
    const { agent, asked } = await agentWith(site, era, said);
    const result = await agent.callTool(call);
    expect((result._meta as { "tendon/error": object })["tendon/error"]).toMatchObject({
      code: "cancelled",
      sent: false,
    });
    expect(textOf(result)).not.toContain("declined");
    const { callId } = (result._meta as { "tendon/error": { callId: string } })["tendon/error"];
    const story = (await site.rest("GET", `/calls/${callId}`)).body;
    expect(story).toMatchObject({ outcome: "cancelled", sentAt: null });
    const many = {
      name: "fleet_call",
      arguments: { all: true, tool: "set_volume", arguments: { volume: 77 } },
    };
    expect((await agent.callTool(many)).structuredContent).toMatchObject({
      ok: 0,
      results: [{ ok: false, error: { code: "cancelled", sent: false } }],
    });
    expect(await board.quiet()).toEqual([]);
    expect((await site.rest("GET", "/approvals")).body["approvals"]).toEqual([]);
    Object.assign(said, { action: "accept", content: { allow: true } });
    const answer = agent.callTool(call);
    board.reply((await board.nextRequest("tools/call")).id, textContent("true"));
    expect(textOf(await answer)).toBe("true");
    expect(asked).toHaveLength(3);
  });

  it("[APR-4] must not be repeated once it was denied, as every answer says", async () => {
    const site = await guardedSite("queue");
    const board = await site.join({ tools: [volume] });
    const { token } = await makeToken(site, {});
    const agent = await openAgent(site, era, { token });
    const failure = async (asked: typeof call) => {
      const result = await agent.callTool(asked);
      expect(result.isError).toBe(true);
      return { text: textOf(result), ...(result._meta as { "tendon/error": { approvalId: string } }) };
    };
    const waiting = await failure(call);
    expect(waiting["tendon/error"]).toMatchObject({ approvalState: "waiting", retryable: true });
    await site.rest("POST", `/approvals/${waiting["tendon/error"].approvalId}/deny`);
    const { alias } = await site.device(device);
    const byName = { name: `${String(alias)}__set_volume`, arguments: { volume: 77 } };
    for (const asked of [call, byName as unknown as typeof call]) {
      const denied = await failure(asked);
      const expired = { approvalExpiresAt: expect.stringMatching(/Z$/) as string };
      expect(denied["tendon/error"]).toMatchObject({
        code: "approval_required",
        approvalState: "denied",
        retryable: false,
        ...expired,
      });
      expect(denied.text).toMatch(/^approval_required: a person has denied `set_volume`.*Do not repeat it/s);
    }
    expect(await board.quiet()).toEqual([]);
  });

  it("[APR-9] gets a decision that was made before it started to wait", async () => {
    const site = await guardedSite("queue");
    await site.join({ tools: [volume] });
    const { token } = await makeToken(site, {});
    const agent = await openAgent(site, era, { token });
    const refused = await agent.callTool(call);
    const { approvalId, since } = (
      refused._meta as { "tendon/error": { approvalId: string; since: string } }
    )["tendon/error"];
    expect(textOf(refused)).toContain(`"since":"${since}"`);
    await site.rest("POST", `/approvals/${approvalId}/approve`);
    const wait = { since, types: ["approval.decided"], timeoutMs: 0 };
    const { structuredContent } = await agent.callTool({ name: "events_wait", arguments: wait });
    expect(structuredContent).toMatchObject({
      events: [{ type: "approval.decided", data: { approvalId, decision: "approved" } }],
    });
  });

  it("asks once for many devices", async () => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const { agent, asked } = await agentWith(site, era, { action: "accept", content: { allow: true } });
    const answer = agent.callTool({
      name: "fleet_call",
      arguments: { all: true, tool: "set_volume", arguments: { volume: 5 } },
    });
    board.reply((await board.nextRequest("tools/call")).id, textContent("true"));
    expect((await answer).structuredContent).toMatchObject({ ok: 1, failed: 0 });
    expect(asked).toHaveLength(1);
  });
});

describe("[SRV-12] the proof of a user's permission", () => {
  const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const yes = { tendon_confirm: { action: "accept", content: { allow: true } } };

  function ask(more: Record<string, unknown> = {}, params: Record<string, unknown> = call) {
    const said = modern("tools/call", { ...params, ...more });
    const body = said.body as { params: { _meta: object } };
    Object.assign(body.params._meta, able);
    return said;
  }

  it("[SRV-10] cannot be forged, copied or used twice by an agent", async () => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const { token } = await makeToken(site, {});
    const other = await makeToken(site, {});
    const send = async (more: Record<string, unknown>, params?: Record<string, unknown>, as = token) =>
      (await say(site, { ...ask(more, params), token: as })).body as {
        result?: { resultType: string; requestState: string; isError?: boolean };
        error?: { code: number };
      };
    // An answer to a question that was never asked causes a question.
    const first = await send({ inputResponses: yes });
    expect(first.result?.resultType).toBe("input_required");
    const requestState = first.result?.requestState ?? "";
    const louder = {
      ...call,
      arguments: { ...call.arguments, arguments: { volume: 100 } },
    };
    for (const [params, as, state] of [
      [louder, token, requestState],
      [call, other.token, requestState],
      [call, token, `${requestState}x`],
      [call, token, `x${requestState}`],
      [call, token, "made-up"],
    ] as const) {
      const { error } = await send({ inputResponses: yes, requestState: state }, params, as);
      expect(error?.code).toBe(-32602);
    }
    expect(await board.quiet()).toEqual([]);
    const right = send({ inputResponses: yes, requestState });
    board.reply((await board.nextRequest("tools/call")).id, textContent("true"));
    expect((await right).result?.resultType).toBe("complete");
    const again = await send({ inputResponses: yes, requestState });
    expect(again.result?.resultType).toBe("input_required");
    expect(await board.quiet()).toEqual([]);
  });

  it("[APR-3] is not valid for a changed tool, or for more devices", async () => {
    const site = await guardedSite();
    const board = await site.join({ tools: [volume] });
    const { token } = await makeToken(site, {});
    const send = async (params: Record<string, unknown>, more: Record<string, unknown> = {}) =>
      (await say(site, { ...ask(more, params), token })).body as {
        result?: { resultType: string; requestState: string };
      };
    const stateOf = async (params: Record<string, unknown>) => (await send(params)).result?.requestState;
    const many = {
      name: "fleet_call",
      arguments: { all: true, tool: "set_volume", arguments: { volume: 5 } },
    };
    const [one, all] = [await stateOf(call), await stateOf(many)];
    const second = await site.join({ deviceId: "02:00:00:00:00:02", tools: [volume] });
    const widened = await send(many, { inputResponses: yes, requestState: all });
    expect(widened.result?.resultType).toBe("input_required");
    const events = await site.events("?type=device.tools_changed");
    board.notify("notifications/tools/list_changed");
    await board.list([
      tool("set_volume", { volume: { type: "integer", description: "louder" } }, ["volume"]),
    ]);
    await events.next();
    const changed = await send(call, { inputResponses: yes, requestState: one });
    expect(changed.result?.resultType).toBe("input_required");
    expect(await board.quiet()).toEqual([]);
    expect(await second.quiet()).toEqual([]);
  });
});
