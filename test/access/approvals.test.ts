import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { textContent, tool } from "../raw-device.ts";
import {
  answerOne,
  approvalIdOf,
  openGuarded,
  rules,
  second,
  setVolume,
  volume,
  waiting,
} from "./guarded.ts";
import { as, makeToken } from "./tokens.ts";

const tenMinutes = 600_000;

describe("a call that requires approval", () => {
  it("[APR-1, APR-3, APR-6] is rejected at once, approved by another principal, sent once and recorded", async () => {
    const { site, device, person, call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 30 }));
    expect(approvalIdOf(await call({ volume: 30 }))).toBe(id);
    expect(approvalIdOf(await call({ volume: 31 }))).not.toBe(id);
    expect(await device.quiet()).toEqual([]);
    const seen = (await waiting(site, person.token)).find((one) => one.id === id);
    expect(seen).toMatchObject({
      state: "waiting",
      device: device.id,
      tool: "set_volume",
      arguments: { volume: 30 },
      principal: "agent",
      decidedBy: null,
    });
    const decided = await decide(id, "approve");
    expect([decided.status, decided.body["state"], decided.body["decidedBy"]]).toEqual([
      200,
      "approved",
      "person",
    ]);
    const repeated = call({ volume: 30 });
    expect(await answerOne(device)).toEqual({ volume: 30 });
    expect((await repeated).status).toBe(200);
    expect(approvalIdOf(await call({ volume: 30 }))).not.toBe(id);
    const { body } = await site.rest("GET", "/calls?outcome=ok");
    expect(body["calls"]).toMatchObject([{ tool: "set_volume", principal: "agent", approval: id }]);
    const { body: used } = await site.rest("GET", `/approvals/${id}`);
    expect(used).toMatchObject({ id, state: "consumed", consumedAt: expect.any(String) });
  });

  it("[APR-9] names an event id from which its decision can be read at any time", async () => {
    const { site, call, decide } = await openGuarded();
    const refused = (await call({ volume: 30 })).body;
    await decide(String(refused["approvalId"]), "deny");
    const events = await site.events("?type=approval.decided", { "last-event-id": String(refused["since"]) });
    expect(await events.next()).toMatchObject({ data: { approvalId: refused["approvalId"] } });
    // A decided approval is returned without waiting.
    expect((await call({ volume: 30 })).body["since"]).toBeUndefined();
  });

  it("[APR-3] is used by exactly one of many simultaneous calls", async () => {
    const { device, call, decide } = await openGuarded();
    await decide(approvalIdOf(await call({ volume: 1 })), "approve");
    const calls = Array.from({ length: 12 }, () => call({ volume: 1 }));
    expect(await answerOne(device)).toEqual({ volume: 1 });
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 403)).toHaveLength(11);
    expect(await device.quiet()).toEqual([]);
  });

  it("[APR-3] matches its arguments in any order, and no other arguments", async () => {
    const { device, call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 5, fade: true }));
    await decide(id, "approve");
    for (const other of [{ volume: 5 }, { volume: 5, fade: false }, { volume: 6, fade: true }]) {
      expect(approvalIdOf(await call(other))).not.toBe(id);
    }
    const repeated = call({ fade: true, volume: 5 });
    await answerOne(device);
    expect((await repeated).status).toBe(200);
  });

  it("[APR-3] finds its approval expired after ten minutes", async () => {
    const { clock, site, device, call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    await decide(id, "approve");
    clock.advance(tenMinutes);
    expect(approvalIdOf(await call({ volume: 1 }))).not.toBe(id);
    expect((await site.rest("GET", `/approvals/${id}`)).body["state"]).toBe("expired");
    expect(device.frames.filter(({ payload }) => JSON.stringify(payload)?.includes("tools/call"))).toEqual(
      [],
    );
  });

  it("[APR-1] waits for an hour, and then needs a new request", async () => {
    const { clock, site, person, call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    clock.advance(6 * tenMinutes);
    expect(await waiting(site, person.token)).toEqual([]);
    const late = await decide(id, "approve");
    expect([late.status, late.body["code"], late.body["state"]]).toEqual([409, "conflict", "expired"]);
    expect(approvalIdOf(await call({ volume: 1 }))).not.toBe(id);
  });

  it("[APR-3] loses its approval when the tool changes", async () => {
    const { site, device, call, decide } = await openGuarded({ rules, quarantine: false });
    const id = approvalIdOf(await call({ volume: 1 }));
    await decide(id, "approve");
    const events = await site.events("?type=device.tools_changed");
    device.notify("notifications/tools/list_changed");
    await device.list([tool("set_volume", { ...volume, boost: { type: "boolean" } }, ["volume"])]);
    await events.next();
    expect(approvalIdOf(await call({ volume: 1 }))).not.toBe(id);
    expect(await device.quiet()).toEqual([]);
  });

  it("[APR-3] keeps its approval while the device is offline or its arguments are invalid", async () => {
    const { site, device, call, decide } = await openGuarded();
    const [good, unfit] = [{ volume: 1 }, { volume: 101 }];
    for (const args of [good, unfit]) await decide(approvalIdOf(await call(args)), "approve");
    expect((await call(unfit)).body["code"]).toBe("arguments_invalid");
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false);
    expect((await call(good)).body["code"]).toBe("device_offline");
    const back = await site.join({ tools: [setVolume, tool("free")], userTools: [tool("self.reboot")] });
    const repeated = call(good);
    await answerOne(back);
    expect((await repeated).status).toBe(200);
  });

  it("[APR-3] keeps its approval while the device's queue is full", async () => {
    const { site, device, call, decide } = await openGuarded({ rules }, { calls: { queue: 1 } });
    await decide(approvalIdOf(await call({ volume: 1 })), "approve");
    const running = site.call(device.id, "free");
    const { id } = await device.nextRequest("tools/call");
    const waits = site.call(device.id, "free");
    await until(async () => (await site.device(device.id))["queuedCalls"] === 1);
    expect((await call({ volume: 1 })).body["code"]).toBe("queue_full");
    device.reply(id, textContent("ok"));
    await answerOne(device);
    await Promise.all([running, waits]);
    const repeated = call({ volume: 1 });
    await answerOne(device);
    expect((await repeated).status).toBe(200);
  });

  it("[APR-4] is rejected as denied for ten minutes, and can be requested again after that", async () => {
    const { clock, call, decide, site, device, agent } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    expect((await decide(id, "deny")).body["state"]).toBe("denied");
    const refused = await call({ volume: 1 });
    expect(approvalIdOf(refused)).toBe(id);
    expect(refused.body).toMatchObject({ approvalState: "denied", retryable: false });
    expect(refused.body["detail"]).toContain("a person has denied");
    const others = [
      { name: "device_call", arguments: { device: device.id, tool: "set_volume", arguments: { volume: 1 } } },
      { name: "raw-board-0001__set_volume", arguments: { volume: 1 } },
    ];
    for (const body of others) {
      const said = await site.rest("POST", "/function-call", body, as(agent.token));
      expect(approvalIdOf(said)).toBe(id);
      expect(said.body).toMatchObject({ approvalState: "denied", retryable: false });
    }
    expect((await decide(id, "approve")).body["code"]).toBe("conflict");
    clock.advance(tenMinutes);
    const again = await call({ volume: 1 });
    expect(approvalIdOf(again)).not.toBe(id);
    expect(again.body).toMatchObject({ approvalState: "waiting", retryable: true });
    expect((await site.rest("GET", "/calls?outcome=ok")).body["calls"]).toEqual([]);
  });

  it("[ACC-2] can be of a user-only tool that the caller's scopes do not include", async () => {
    const { site, device, agent, decide } = await openGuarded({
      rules: [{ tool: "self.reboot", effect: "confirm" }],
    });
    const reboot = () =>
      site.rest("POST", `/devices/${device.id}/tools/self.reboot/call`, {}, as(agent.token));
    await decide(approvalIdOf(await reboot()), "approve");
    const repeated = reboot();
    await answerOne(device);
    expect((await repeated).status).toBe(200);
  });

  it("[CALL-7] can be repeated under the same Idempotency-Key", async () => {
    const { site, device, agent, call, decide } = await openGuarded();
    const key = { "idempotency-key": "volume-1" };
    await decide(approvalIdOf(await call({ volume: 1 }, key)), "approve");
    const repeated = call({ volume: 1 }, key);
    await answerOne(device);
    expect((await repeated).status).toBe(200);
    expect((await call({ volume: 1 }, key)).status).toBe(200);
    const fanOut = () =>
      site.rest(
        "POST",
        "/calls",
        { target: { all: true }, tool: "set_volume", arguments: { volume: 2 } },
        { ...as(agent.token), "idempotency-key": "fan-out" },
      );
    const [held] = (await fanOut()).body["results"] as { error: { approvalId: string } }[];
    await decide(held?.error.approvalId ?? "", "approve");
    const all = fanOut();
    await answerOne(device);
    expect((await all).body).toMatchObject({ ok: 1, failed: 0 });
    expect((await fanOut()).body).toMatchObject({ ok: 1, failed: 0 });
    expect(await device.quiet()).toEqual([]);
  });

  it("[APR-1] is one of at most a hundred waiting requests of a caller", async () => {
    const { call } = await openGuarded();
    for (let number = 0; number < 100; number += 1) approvalIdOf(await call({ volume: number }));
    const many = await call({ volume: 100 });
    expect([many.status, many.body["code"]]).toEqual([429, "rate_limited"]);
    approvalIdOf(await call({ volume: 7 }));
  });

  it.each([
    ["too large", { text: "x".repeat(70_000) }, "payload_too_large"],
    ["too deep", { deep: JSON.parse(`${"[".repeat(70)}${"]".repeat(70)}`) as unknown }, "arguments_invalid"],
  ])("creates no request with arguments that are %s for any device", async (_, args, code) => {
    const { site, person, call } = await openGuarded();
    expect((await call(args)).body["code"]).toBe(code);
    expect(await waiting(site, person.token)).toEqual([]);
  });
});

describe("the approver", () => {
  it("[APR-2] needs `call:user` or `admin`, and cannot be the requester", async () => {
    const { site, agent, call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    expect((await decide(id, "approve", agent.token)).body["code"]).toBe("forbidden");
    const reader = await makeToken(site, { scopes: ["read", "provision"] });
    expect((await decide(id, "approve", reader.token)).body["code"]).toBe("not_found");
    expect((await site.rest("GET", "/approvals", undefined, as(reader.token))).body["code"]).toBe(
      "forbidden",
    );
    const both = await makeToken(site, { name: "both", scopes: ["read", "call", "call:user"] });
    const at = "/devices/02:00:00:00:00:01/tools/set_volume/call";
    const own = approvalIdOf(await site.rest("POST", at, { arguments: { volume: 1 } }, as(both.token)));
    expect(own).not.toBe(id);
    const refused = await decide(own, "approve", both.token);
    expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
    expect((await decide(id, "approve", both.token)).status).toBe(200);
    const admins = approvalIdOf(await site.call("02:00:00:00:00:01", "set_volume", { volume: 9 }));
    expect((await site.rest("POST", `/approvals/${admins}/approve`)).body["code"]).toBe("forbidden");
    expect((await site.rest("POST", `/approvals/${own}/approve`)).status).toBe(200);
  });

  it("[APR-2, TOK-3] sees only devices within its limits", async () => {
    const { site, call, decide, agent } = await openGuarded();
    await site.join({ deviceId: second, tools: [setVolume] });
    const id = approvalIdOf(await call({ volume: 1 }));
    const limited = await makeToken(site, { scopes: ["read", "call:user"], devices: { ids: [second] } });
    expect(await waiting(site, limited.token)).toEqual([]);
    expect((await decide(id, "approve", limited.token)).body["code"]).toBe("not_found");
    const other = await site.rest(
      "POST",
      `/devices/${second}/tools/set_volume/call`,
      { arguments: { volume: 1 } },
      as(agent.token),
    );
    expect(await waiting(site, limited.token)).toMatchObject([{ id: approvalIdOf(other) }]);
    expect((await decide(approvalIdOf(other), "approve", limited.token)).status).toBe(200);
  });

  it("[APR-2] decides once, and only about existing requests", async () => {
    const { call, decide } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    const both = await Promise.all([decide(id, "approve"), decide(id, "deny")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await decide("nothing", "approve")).status).toBe(404);
    expect((await decide("x".repeat(65), "approve")).status).toBe(400);
  });

  it("shows an agent only its own requests", async () => {
    const { site, agent, call } = await openGuarded();
    const id = approvalIdOf(await call({ volume: 1 }));
    const other = await makeToken(site, { name: "other", scopes: ["call"] });
    expect(await waiting(site, agent.token)).toMatchObject([{ id }]);
    expect(await waiting(site, other.token)).toEqual([]);
    expect((await site.rest("GET", `/approvals/${id}`, undefined, as(other.token))).status).toBe(404);
  });

  it("[APR-8] receives events of requests and decisions, without arguments, only for devices it sees", async () => {
    const { site, call, decide } = await openGuarded();
    const limited = await makeToken(site, { scopes: ["read"], devices: { ids: [second] } });
    const types = "?type=approval.requested,approval.decided,device.online";
    const events = await site.events(types);
    const deaf = await site.events(types, as(limited.token));
    const id = approvalIdOf(await call({ volume: 77 }));
    approvalIdOf(await call({ volume: 77 }));
    await decide(id, "deny");
    const what = { approvalId: id, tool: "set_volume", principal: "agent" };
    const requested = await events.next();
    expect(requested).toMatchObject({ type: "approval.requested", device: "02:00:00:00:00:01" });
    expect(requested.data).toEqual(what);
    const decided = await events.next();
    expect(decided.type).toBe("approval.decided");
    expect(decided.data).toEqual({ ...what, decision: "denied", by: "person" });
    await site.join({ deviceId: second, tools: [setVolume] });
    expect(await deaf.next()).toMatchObject({ type: "device.online", device: second });
  });
});
