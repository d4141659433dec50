import { Writable } from "node:stream";
import { limits } from "@tendon/protocol";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { unusedName } from "./access/tokens.ts";
import { EventReader } from "./event-reader.ts";
import { ask } from "./http-client.ts";
import { ManualClock } from "./manual-clock.ts";
import { OtaBoard } from "./ota-board.ts";
import { adminToken, firstDevice, openSite, type Site, type SiteOptions } from "./site.ts";

const otherDevice = "02:00:00:00:00:02";

async function approveSite(options: SiteOptions = {}): Promise<Site> {
  return await openSite({ ...options, config: { devices: { admission: "approve" } } });
}

async function token(
  site: Site,
  request: { scopes: string[]; devices?: unknown },
): Promise<Record<string, string>> {
  const made = await site.rest("POST", "/tokens", { name: unusedName(site, "limited"), ...request });
  return { authorization: `Bearer ${made.body["token"] as string}` };
}

async function approved(site: Site, board = new OtaBoard(site.url)): Promise<OtaBoard> {
  const { code } = await board.shown();
  expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(200);
  return board;
}

describe("a token with `provision` alone", () => {
  it("[PRV-4] approves, imports and provisions unknown devices", async () => {
    const site = await approveSite();
    const factory = await token(site, { scopes: ["provision"] });
    const { code } = await new OtaBoard(site.url).shown();
    expect((await site.rest("GET", "/devices/pending", undefined, factory)).body["total"]).toBe(1);
    const answer = await site.rest("POST", "/devices/approve", { code }, factory);
    expect(answer.body).toMatchObject({ id: firstDevice, approval: "approved" });
    const pair = { id: otherDevice, clientId: "made-in-a-factory" };
    expect((await site.rest("POST", "/devices/provision", pair, factory)).status).toBe(201);
    // The same pair gets the same credentials, so that an interrupted production line can continue.
    expect((await site.rest("POST", "/devices/provision", pair, factory)).status).toBe(201);
    const rows = { devices: [{ id: "02:00:00:00:00:03" }] };
    expect((await site.rest("POST", "/devices/import", rows, factory)).status).toBe(200);
    await new OtaBoard(site.url, { deviceId: "02:00:00:00:00:04" }).shown();
    expect((await site.rest("POST", "/devices/02:00:00:00:00:04/approve", undefined, factory)).status).toBe(
      200,
    );
  });

  it("[PRV-4] cannot replace, restore, revoke or read known devices", async () => {
    const site = await approveSite();
    const factory = await token(site, { scopes: ["provision"] });
    const board = await approved(site);
    const before = await board.mqtt();
    const copy = new OtaBoard(site.url, { clientId: "copy" });
    const { code } = await copy.shown();
    const refusals = [
      await site.rest("POST", "/devices/approve", { code }, factory),
      await site.rest("POST", `/devices/${firstDevice}/approve`, undefined, factory),
      await site.rest("POST", "/devices/provision", { id: firstDevice, clientId: "mine" }, factory),
      await site.rest("POST", `/devices/${firstDevice}/revoke`, undefined, factory),
      await site.rest("DELETE", `/devices/${firstDevice}`, undefined, factory),
      await site.rest("PATCH", `/devices/${firstDevice}`, { transport: "websocket" }, factory),
      await site.rest("GET", `/devices/${firstDevice}`, undefined, factory),
      await site.rest("GET", "/devices", undefined, factory),
      await site.rest("POST", `/devices/${firstDevice}/tools/a/call`, {}, factory),
      await site.rest("POST", "/tokens", { name: "more", scopes: ["admin"] }, factory),
      await site.rest("GET", "/calls", undefined, factory),
    ];
    expect(refusals.map(({ status, body }) => [status, body["code"]])).toEqual(
      refusals.map(() => [403, "forbidden"]),
    );
    expect(await board.mqtt()).toEqual(before);
    await site.rest("POST", `/devices/${firstDevice}/revoke`);
    const again = await site.rest("POST", `/devices/${firstDevice}/approve`, undefined, factory);
    expect(again.body).toMatchObject({ code: "forbidden", scope: "admin" });
    expect(await board.mqtt()).toBeUndefined();
  });

  it("[PRV-7] receives only events of waiting boards, which a `read` token does not receive", async () => {
    const site = await approveSite();
    const open = async (headers: Record<string, string>) =>
      new EventReader(await ask(site.url, { path: "/api/v1/events", headers }));
    const factory = await open(await token(site, { scopes: ["provision"] }));
    const reader = await open(await token(site, { scopes: ["read"] }));
    await approved(site);
    await new OtaBoard(site.url, { deviceId: otherDevice }).shown();
    expect(await factory.next()).toMatchObject({ type: "device.pending", device: firstDevice });
    expect(await factory.next()).toMatchObject({ type: "device.pending", device: otherDevice });
    await approved(site, new OtaBoard(site.url, { deviceId: "02:00:00:00:00:03" }));
    expect(await reader.next()).toMatchObject({ type: "device.approved", device: firstDevice });
    expect(await reader.next()).toMatchObject({ type: "device.approved", device: "02:00:00:00:00:03" });
    expect(factory.seen.map(({ type }) => type)).not.toContain("device.approved");
    factory.close();
    reader.close();
    const blind = await token(site, { scopes: ["call"] });
    expect((await site.rest("GET", "/events", undefined, blind)).status).toBe(403);
  });

  it.each([["read"], ["call"], ["call:user"]])("[PRV-4] is not implied by `%s`", async (scope) => {
    const site = await approveSite();
    const headers = await token(site, { scopes: [scope] });
    const { code } = await new OtaBoard(site.url).shown();
    const answers = [
      await site.rest("POST", "/devices/approve", { code }, headers),
      await site.rest("GET", "/devices/pending", undefined, headers),
      await site.rest("POST", "/devices/import", { devices: [{ id: otherDevice }] }, headers),
      await site.rest("POST", "/devices/provision", { id: otherDevice, clientId: "x" }, headers),
    ];
    expect(answers.map(({ body }) => body["code"])).toEqual(answers.map(() => "forbidden"));
    // A board that only waits is unknown to this token.
    const byId = await site.rest("POST", `/devices/${firstDevice}/approve`, undefined, headers);
    expect(byId.body["code"]).toBe("device_unknown");
  });
});

describe("a token limited to devices", () => {
  it("[TOK-3] approves, sees and imports only those", async () => {
    const site = await approveSite();
    const limited = await token(site, {
      scopes: ["provision"],
      devices: { ids: [firstDevice], tags: ["line-7"] },
    });
    const { code } = await new OtaBoard(site.url).shown();
    const other = await new OtaBoard(site.url, { deviceId: otherDevice }).shown();
    expect((await site.rest("GET", "/devices/pending", undefined, limited)).body).toMatchObject({
      pending: [{ device: firstDevice }],
      total: 1,
    });
    const outside = [
      await site.rest("POST", "/devices/approve", { code: other.code }, limited),
      await site.rest("POST", `/devices/${otherDevice}/approve`, undefined, limited),
      await site.rest("POST", "/devices/provision", { id: otherDevice, clientId: "x" }, limited),
      await site.rest(
        "POST",
        "/devices/import",
        { devices: [{ id: otherDevice, tags: ["line-8"] }] },
        limited,
      ),
    ];
    expect(outside.map(({ body }) => body["code"])).toEqual(outside.map(() => "device_unknown"));
    expect(outside.at(-1)?.body["detail"]).toBe("/devices/0/tags must have a tag of this token: line-7");
    const rows = { devices: [{ id: otherDevice, tags: ["line-7"] }] };
    expect((await site.rest("POST", "/devices/import", rows, limited)).status).toBe(200);
    // Another token's row cannot be taken over with other tags.
    const theirs = { id: "02:00:00:00:00:09", tags: ["line-8"] };
    await site.rest("POST", "/devices/import", { devices: [theirs] });
    const grab = { devices: [{ ...theirs, tags: ["line-7"] }] };
    expect((await site.rest("POST", "/devices/import", grab, limited)).body["code"]).toBe("device_unknown");
    expect((await site.rest("POST", "/devices/approve", { code }, limited)).status).toBe(200);
  });
});

describe("guessing codes", () => {
  it("[PRV-5] is blocked after ten wrong codes, for the token and the address, even for a right code", async () => {
    const clock = new ManualClock();
    const site = await approveSite({ clock });
    const { code } = await new OtaBoard(site.url).shown();
    const wrong = code === "000000" ? "000001" : "000000";
    const guess = (headers: Record<string, string> = {}) =>
      site.rest("POST", "/devices/approve", { code: wrong }, headers);
    for (let count = 0; count < limits.wrongCodes.max; count += 1) {
      expect((await guess()).body["code"]).toBe("device_unknown");
    }
    const stopped = await guess();
    expect([stopped.status, stopped.body["code"]]).toEqual([429, "rate_limited"]);
    expect(stopped.body["retryAfterMs"]).toBeGreaterThan(0);
    const other = await token(site, { scopes: ["provision"] });
    expect((await guess(other)).status).toBe(429);
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(429);
    // Approval by id is not affected.
    expect((await site.rest("POST", `/devices/${otherDevice}/approve`)).status).toBe(404);
    clock.advance(10_000);
    expect((await guess()).status).toBe(404);
    expect((await guess()).status).toBe(429);
    clock.advance(10_000);
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(200);
  });

  it("[PRV-5] is blocked for a thousand at once too, and right codes do not count", async () => {
    const site = await approveSite();
    for (let count = 0; count < 2 * limits.wrongCodes.max; count += 1) {
      const board = new OtaBoard(site.url, { deviceId: `0a:00:00:00:00:${10 + count}` });
      await approved(site, board);
    }
    const { code } = await new OtaBoard(site.url).shown();
    const guesses = Array.from({ length: 200 }, (_, index) =>
      ((Number(code) + 1 + index) % 1_000_000).toString().padStart(6, "0"),
    );
    const answers = await Promise.all(
      guesses.map((guess) => site.rest("POST", "/devices/approve", { code: guess })),
    );
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(limits.wrongCodes.max);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(200 - limits.wrongCodes.max);
  });

  it.each(["12345", "1234567", "12345a", "", 123456, null])(
    "[PRV-5] does not count %j, which is not a code",
    async (code) => {
      const site = await approveSite();
      for (let count = 0; count <= limits.wrongCodes.max; count += 1) {
        expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(400);
      }
      const answer = await site.rest("POST", "/devices/approve", { code: "000000" });
      expect(answer.body["code"]).toBe("device_unknown");
    },
  );

  it("[PRV-5] reveals no secret of a waiting board", async () => {
    const log: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        log.push(chunk.toString("utf8"));
        done();
      },
    });
    const site = await approveSite({ logger: pino({ level: "trace" }, stream) });
    const events = await site.events();
    const serial = { number: "SN-1", key: "5ec2e7".repeat(11).slice(0, 64) };
    const row = { id: firstDevice, serial: serial.number, hmacKey: serial.key };
    const imported = await site.rest("POST", "/devices/import", { devices: [row] });
    const board = new OtaBoard(site.url, { clientId: "client-secret-0009", serial });
    const { code, challenge } = await board.shown();
    await events.nextOf("device.pending");
    const wrong = await board.activate("another-challenge");
    await board.activate(challenge);
    const pending = await site.rest("GET", "/devices/pending");
    const done = await site.rest("POST", `/devices/${firstDevice}/approve`);
    const { password = "" } = (await board.mqtt()) ?? {};
    expect(password).not.toBe("");
    const revoked = await site.rest("POST", `/devices/${firstDevice}/revoke`);
    await events.nextOf("device.revoked");
    await site.tendon.stop();
    expect(log.join()).toContain("device waits for approval");
    const answers = [imported, wrong, pending, done, revoked].map(({ text }) => text);
    const everything = [...log, ...answers, ...events.seen.map(({ raw }) => raw)].join("\n");
    for (const secret of [code, challenge, board.clientId, serial.key, password, adminToken])
      expect(everything).not.toContain(secret);
  });
});
