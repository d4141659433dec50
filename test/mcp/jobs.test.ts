/** A fan-out that becomes a job, as agents see it. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { data, run } from "../functions.ts";
import { until } from "../inbox.ts";
import { type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { eras, openAgent, textOf } from "./agent.ts";

const others = 500;
const everywhere = { all: true, tool: "lamp_on" };

/** One connected device, and five hundred that never connected. */
async function openFleet(): Promise<{ site: Site; device: RawDevice }> {
  const site = await openSite();
  const device = await site.join({ tools: [tool("self.lamp.on")] });
  for (let number = 0; number < others; number += 1) {
    const tail = number.toString(16).padStart(4, "0");
    site.tendon.provision(
      `02:00:00:01:${tail.slice(0, 2)}:${tail.slice(2)}`,
      `8d0f1c52-3a57-4f3b-9a8e-00000000${tail}`,
    );
    // Each is written at once, and five hundred in one turn would be a stall.
    if (number % 20 === 0) await nextTurn();
  }
  return { site, device };
}

describe.each(eras)("[CALL-8] fleet_call on more than 500 devices, in the %s era", (era) => {
  it("succeeds with the id of its job, and returns the job's progress on request", async () => {
    const { site, device } = await openFleet();
    const { token } = await makeToken(site, {});
    const agent = await openAgent(site, era, { token });
    const started = await agent.callTool({ name: "fleet_call", arguments: everywhere });
    expect(started.isError ?? false).toBe(false);
    expect(started.structuredContent).toMatchObject({ state: "running", total: 501 });
    expect(textOf(started)).toContain("do not repeat");
    const { job } = started.structuredContent as { job: string };
    const read = async () =>
      (await agent.callTool({ name: "fleet_call", arguments: { job } })).structuredContent as JsonObject;
    const request = await device.nextRequest("tools/call");
    expect(
      await until(async () => ((await read())["done"] === others ? await read() : undefined)),
    ).toMatchObject({ job, state: "running", total: 501, ok: 0, failed: others });
    device.reply(request.id, textContent("lit"));
    const ended = await until(async () => {
      const now = await agent.callTool({ name: "fleet_call", arguments: { job } });
      return (now.structuredContent as JsonObject)["state"] === "done" ? now : undefined;
    });
    expect(ended.structuredContent).toMatchObject({ total: 501, done: 501, ok: 1, failed: others });
    const { failedBy, failures } = ended.structuredContent as {
      failedBy: Record<string, number>;
      failures: { device: string; code: string; detail: string }[];
    };
    expect(Object.values(failedBy).reduce((sum, count) => sum + count, 0)).toBe(others);
    expect(failures).toHaveLength(20);
    expect(failures[0]).toEqual({
      device: expect.stringMatching(/^02:00:00:01:/),
      code: Object.keys(failedBy)[0],
      detail: expect.any(String),
    });
    expect(Buffer.byteLength(textOf(ended))).toBeLessThan(8_000);
    // Requesting the progress calls no device again, and it is the same job as in REST.
    expect(await device.quiet()).toEqual([]);
    const { body } = await site.rest("GET", `/jobs/${job}`, undefined, as(token));
    expect(body).toMatchObject({ id: job, state: "done", total: 501, ok: 1, failed: others });
  });

  it("shows a job only to its caller, and accepts only its id", async () => {
    const { site, device } = await openFleet();
    const { token } = await makeToken(site, {});
    const owner = await openAgent(site, era, { token });
    const started = await owner.callTool({ name: "fleet_call", arguments: everywhere });
    const { job } = started.structuredContent as { job: string };
    const said = async (agent: typeof owner, args: Record<string, unknown>) =>
      textOf(await agent.callTool({ name: "fleet_call", arguments: args }));
    const stranger = await openAgent(site, era, { token: (await makeToken(site, {})).token });
    const reader = await openAgent(site, era, { token: (await makeToken(site, { scopes: ["read"] })).token });
    expect(await said(stranger, { job })).toMatch(/^not_found: /);
    expect(await said(stranger, { job: "made-up" })).toBe(await said(stranger, { job }));
    expect(await said(reader, { job })).toMatch(/^forbidden: /);
    for (const more of [{ tool: "lamp_on" }, { all: true }, { arguments: {} }, { timeoutMs: 5 }])
      expect(await said(owner, { job, ...more }), JSON.stringify(more)).toMatch(/^arguments_invalid: /);
    expect(await said(owner, { all: true })).toMatch(/^arguments_invalid: .*`tool`/);
    expect(await said(owner, { job: "x".repeat(129) })).toMatch(/^arguments_invalid: /);
    device.reply((await device.nextRequest("tools/call")).id, textContent("lit"));
    expect(await device.quiet()).toEqual([]);
  });
});

describe("[FUN-2] fleet_call on more than 500 devices, without MCP", () => {
  it("succeeds too, and the job is read in the same way", async () => {
    const { site, device } = await openFleet();
    const { status, body } = await run(site, "fleet_call", everywhere);
    expect([status, (body["result"] as JsonObject)["isError"]]).toEqual([200, false]);
    const { structuredContent } = body["result"] as unknown as { structuredContent: { job: string } };
    const { job } = structuredContent;
    device.reply((await device.nextRequest("tools/call")).id, {
      content: [{ type: "text", text: `no bulb ${"!".repeat(5_000)}` }],
      isError: true,
    });
    const ended = await until(async () => {
      const now = await data(site, "fleet_call", { job });
      return now["state"] === "done" ? now : undefined;
    });
    expect(ended).toMatchObject({ job, total: 501, ok: 0, failed: 501, failedBy: { tool_error: 1 } });
    expect(JSON.stringify(ended).length).toBeLessThan(8_000);
    expect((await run(site, "fleet_call", { job: "made-up" })).body["code"]).toBe("not_found");
  });
});
