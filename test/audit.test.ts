import { describe, expect, it } from "vitest";
import { as, makeToken } from "./access/tokens.ts";
import { type Fields, textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

interface Entry extends Fields {
  readonly action: string;
  readonly principal: string;
  readonly target: { readonly type: string; readonly id: string; readonly name: string };
}

async function entries(site: Site, query = ""): Promise<Entry[]> {
  const { status, body } = await site.rest("GET", `/audit${query}`);
  expect(status).toBe(200);
  return body["entries"] as unknown as Entry[];
}

function device(name: string) {
  return { type: "device", id: firstDevice, name };
}

describe("the audit", () => {
  it("records who made and revoked a token, and from where, without the token", async () => {
    const site = await openSite();
    const { id, token } = await makeToken(site, { name: "kitchen tablet", scopes: ["read"] });
    await site.rest("DELETE", `/tokens/${id}`);
    const [revoked, created] = await entries(site);
    const target = { type: "token", id, name: "kitchen tablet" };
    expect(created).toMatchObject({
      principal: "admin",
      action: "token.create",
      target,
      from: "127.0.0.1",
      detail: { scopes: ["read"] },
    });
    expect(revoked).toMatchObject({ principal: "admin", action: "token.revoke", target });
    expect(JSON.stringify([created, revoked])).not.toContain(token);
  });

  it("tells tokens that had the same name apart by their ids, also in the exports", async () => {
    const site = await openSite();
    const made: { id: string }[] = [];
    for (const name of ["first reader", "second reader"]) {
      const { body } = await site.rest("POST", "/tokens", { name: "ops", scopes: ["admin"] });
      const ops = body as unknown as { id: string; token: string };
      made.push(ops);
      await site.rest("POST", "/tokens", { name, scopes: ["read"] }, as(ops.token));
      await site.rest("DELETE", `/tokens/${ops.id}`);
    }
    const found = (await entries(site)).filter(({ target }) => target.name.endsWith("reader"));
    expect(found.map((entry) => [entry["principal"], entry["principalId"]])).toEqual([
      ["ops", made[1]?.id],
      ["ops", made[0]?.id],
    ]);
    const [start] = await entries(site, "?action=settings.start");
    expect(start).toMatchObject({ principal: "gateway", principalId: "gateway" });
    const { text } = await site.rest("GET", "/audit?action=token.create", undefined, { accept: "text/csv" });
    const [head, ...rows] = text.trim().split("\r\n");
    expect(head).toMatch(/,detail,principalId$/);
    expect(rows.map((row) => row.split(",").at(-1))).toEqual([made[1]?.id, "admin", made[0]?.id, "admin"]);
  });

  it("records what was changed of a device, with the values before", async () => {
    const site = await openSite();
    await site.join();
    const at = `/devices/${firstDevice}`;
    await site.rest("PATCH", at, { alias: "desk", tags: ["lab"] });
    await site.rest("POST", `${at}/revoke`);
    await site.rest("DELETE", at);
    const found = (await entries(site)).filter(({ target }) => target.type === "device");
    expect(found.map(({ action, target }) => [action, target])).toEqual([
      ["device.delete", device("desk")],
      ["device.revoke", device("desk")],
      ["device.tag", device("desk")],
      ["device.rename", device("desk")],
    ]);
    expect(found.at(-1)).toMatchObject({ detail: { from: "raw-board-0001", to: "desk" } });
    expect(found.at(-2)).toMatchObject({ detail: { from: [], to: ["lab"] } });
  });

  it("records nothing of a change that failed", async () => {
    const site = await openSite();
    await site.join();
    const { token } = await makeToken(site, { scopes: ["read"] });
    const before = await entries(site);
    await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" }, as(token));
    await site.rest("DELETE", "/tokens/none");
    await site.rest("DELETE", "/devices/none");
    expect(await entries(site)).toEqual(before);
  });

  it("records decisions about calls, with the caller", async () => {
    const rules = [{ tool: "self.reboot", effect: "confirm" as const }];
    const site = await openSite({ config: { access: { rules } } });
    const board = await site.join({ tools: [tool("self.reboot")] });
    const { token } = await makeToken(site, { name: "agent", scopes: ["read", "call"] });
    const path = `/devices/${firstDevice}/tools/self.reboot/call`;
    const asked = (await site.rest("POST", path, {}, as(token))).body;
    await site.rest("POST", `/approvals/${String(asked["approvalId"])}/approve`);
    expect((await entries(site, "?action=approval.approve"))[0]).toMatchObject({
      principal: "admin",
      target: { type: "approval", id: asked["approvalId"], name: "self.reboot" },
      detail: { device: firstDevice, principal: "agent" },
    });
    const running = site.rest("POST", path, {}, as(token));
    board.reply((await board.nextRequest("tools/call")).id, textContent("ok"));
    expect((await running).status).toBe(200);
  });

  it("records the settings of each start that are not defaults, with secrets hidden", async () => {
    const site = await openSite({ config: { calls: { queue: 5 } } });
    const [start] = await entries(site, "?action=settings.start");
    expect(start).toMatchObject({
      principal: "gateway",
      from: "gateway",
      target: { type: "gateway" },
      detail: { "calls.queue": 5 },
    });
    expect(start?.["detail"]).not.toHaveProperty("calls.timeoutMs");
    const { body } = await site.rest("GET", "/settings");
    expect(body["settings"]).toContainEqual({
      name: "calls.queue",
      value: 5,
      description: expect.stringContaining("wait for one device"),
      source: "command",
    });
    expect(body["settings"]).toContainEqual(
      expect.objectContaining({ name: "calls.timeoutMs", value: 30_000, source: "default" }),
    );
  });

  it("is for administrators only, also as an event", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, { scopes: ["read", "call", "provision"] });
    for (const path of ["/audit", "/settings"])
      expect((await site.rest("GET", path, undefined, as(token))).status).toBe(403);
    const hidden = await site.events("", as(token));
    const shown = await site.events("?type=audit.recorded");
    const { id } = await makeToken(site, { name: "another" });
    expect(await shown.next()).toMatchObject({
      type: "audit.recorded",
      data: { action: "token.create", target: { type: "token", id, name: "another" }, from: "127.0.0.1" },
    });
    const board = await site.join();
    expect((await hidden.next()).type).toBe("device.online");
    board.cut();
  });

  it("is filtered and read page by page, newest first", async () => {
    const site = await openSite();
    for (let number = 0; number < 5; number += 1) await makeToken(site, { name: `token ${number}` });
    const names = (found: readonly Entry[]) => found.map(({ target }) => target.name);
    const first = await site.rest("GET", "/audit?action=token.create&limit=2");
    expect(names(first.body["entries"] as unknown as Entry[])).toEqual(["token 4", "token 3"]);
    const cursor = String(first.body["nextCursor"]);
    const second = await site.rest("GET", `/audit?action=token.create&limit=3&cursor=${cursor}`);
    expect(names(second.body["entries"] as unknown as Entry[])).toEqual(["token 2", "token 1", "token 0"]);
    expect(second.body["nextCursor"]).toBeUndefined();
    expect(await entries(site, "?principal=nobody")).toEqual([]);
    expect(await entries(site, "?since=2999-01-01T00:00:00Z")).toEqual([]);
    for (const wrong of ["?cursor=x", "?since=yesterday", "?limit=0"])
      expect((await site.rest("GET", `/audit${wrong}`)).status).toBe(400);
  });
});

describe("an export", () => {
  it("has all entries as CSV, in which no name is a formula", async () => {
    const site = await openSite();
    await makeToken(site, { name: '=cmd("x"), or\nnot' });
    const { headers, text } = await site.rest("GET", "/audit?action=token.create", undefined, {
      accept: "text/csv",
    });
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(headers["content-disposition"]).toBe('attachment; filename="tendon-audit.csv"');
    const [head, ...rows] = text.split("\r\n");
    expect(head).toBe("id,at,principal,action,targetType,targetId,targetName,from,detail,principalId");
    expect(rows.join("")).toContain(`"'=cmd(""x""), or\nnot"`);
  });

  it("has more calls than one page, as lines of JSON and as CSV", async () => {
    const site = await openSite();
    const board = await site.join({ tools: [tool("a")] });
    const count = 1_003;
    for (let number = 0; number < count; number += 1) {
      const calling = site.call(firstDevice, "a");
      board.reply((await board.nextRequest("tools/call")).id, textContent("ok"));
      await calling;
    }
    const lines = await site.rest("GET", "/calls", undefined, { accept: "application/x-ndjson" });
    const calls = lines.text.trimEnd().split("\n");
    expect(calls).toHaveLength(count);
    expect(JSON.parse(calls[0] ?? "")).toMatchObject({ tool: "a", outcome: "ok" });
    expect(new Set(calls).size).toBe(count);
    const csv = await site.rest("GET", "/calls?outcome=ok", undefined, { accept: "text/csv" });
    expect(csv.text.trimEnd().split("\r\n")).toHaveLength(count + 1);
  });

  it("is refused before it begins if the caller may not read it", async () => {
    const site = await openSite();
    const { token } = await makeToken(site, { scopes: ["call"] });
    const headers = { ...as(token), accept: "text/csv" };
    expect((await site.rest("GET", "/calls", undefined, headers)).body["code"]).toBe("forbidden");
    expect((await site.rest("GET", "/audit", undefined, headers)).body["code"]).toBe("forbidden");
  });
});
