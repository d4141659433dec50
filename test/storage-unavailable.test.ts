import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { start, temporaryFolder } from "../packages/cli/test/run-tendon.ts";
import { PostgresServer } from "../packages/gateway/test/store/postgres-server.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { textContent, tool } from "./raw-device.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
}, 60_000);

afterAll(async () => {
  await server.remove();
});

async function siteOnPostgres(): Promise<Site> {
  return await openSite({ config: { storage: await server.newDatabase() } });
}

async function readiness(site: Site) {
  const { status, body } = await askAll(site.url, { path: "/readyz" });
  return { status, body };
}

async function answeredCall(site: Site, device: Awaited<ReturnType<Site["join"]>>): Promise<number> {
  const answer = site.call(device.id, "a");
  device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
  return (await answer).status;
}

/** Requests that need the database, and their errors. */
async function refusals(site: Site) {
  const asked = [
    ["GET", "/calls"],
    ["GET", "/tokens"],
    ["POST", "/tokens", { name: "x", scopes: ["read"] }],
    ["PATCH", `/devices/${firstDevice}`, { alias: "other" }],
    ["DELETE", `/devices/${firstDevice}`],
    ["POST", "/devices/approve", { code: "123456" }],
    ["POST", "/devices/provision", { id: "02:00:00:00:00:09", clientId: "x" }],
  ] as const;
  return await Promise.all(
    asked.map(async ([method, path, body]) => {
      const { status, body: said, headers } = await site.rest(method, path, body);
      return [method, path, status, said["code"], said["retryable"], headers["retry-after"]];
    }),
  );
}

const refused = [
  ["GET", "/calls"],
  ["GET", "/tokens"],
  ["POST", "/tokens"],
  ["PATCH", `/devices/${firstDevice}`],
  ["DELETE", `/devices/${firstDevice}`],
  ["POST", "/devices/approve"],
  ["POST", "/devices/provision"],
].map((asked) => [...asked, 503, "storage_unavailable", true, "5"]);

describe("while PostgreSQL is unavailable", () => {
  it("continues calls, rejects requests that need it with storage_unavailable, and loses nothing", async () => {
    const site = await siteOnPostgres();
    const device = await site.join({ tools: [tool("a")] });
    expect(await answeredCall(site, device)).toBe(200);
    expect(await readiness(site)).toEqual({ status: 200, body: { status: "ready" } });
    await server.stop();
    expect(await refusals(site)).toEqual(refused);
    expect(await answeredCall(site, device)).toBe(200);
    expect(await readiness(site)).toEqual({
      status: 503,
      body: {
        status: "unready",
        parts: { storage: "the database does not answer" },
        problems: ["storage: the database does not answer"],
      },
    });
    // Devices are read from memory; a new one connects, is listed, and is written later.
    expect((await site.rest("GET", "/devices")).status).toBe(200);
    const other = await site.join({ deviceId: "02:00:00:00:00:02", tools: [tool("a"), tool("b")] });
    expect(await answeredCall(site, other)).toBe(200);
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);

    await server.startAgain();
    await until(async () => (await readiness(site)).status === 200, "the storage to be back");
    await until(async () => {
      const { body } = await site.rest("GET", "/calls");
      return Array.isArray(body["calls"]) && body["calls"].length === 3;
    }, "the history");
    expect((await site.rest("PATCH", `/devices/${firstDevice}`, { alias: "desk" })).status).toBe(200);
    const { storage, data } = site.tendon.config;
    await site.tendon.stop();
    const again = await openSite({ config: { storage, data } });
    expect((await again.device("02:00:00:00:00:02"))["toolCount"]).toBe(2);
    expect((await again.device("desk"))["id"]).toBe(firstDevice);
  }, 60_000);

  it("gives approved boards their settings, and asks new ones to retry", async () => {
    const config = { storage: await server.newDatabase(), devices: { admission: "approve" as const } };
    const site = await openSite({ config });
    const clientId = "11111111-2222-4333-8444-555555555555";
    await site.rest("POST", "/devices/provision", { id: firstDevice, clientId });
    await server.stop();
    const ask = async (deviceId: string) =>
      await askAll(site.url, {
        method: "POST",
        path: "/xiaozhi/ota/",
        headers: { "device-id": deviceId, "client-id": clientId },
        body: "{}",
      });
    for (let count = 0; count < 2; count += 1) {
      const known = await ask(firstDevice);
      expect([known.status, Object.keys(known.body)]).toEqual([200, expect.arrayContaining(["mqtt"])]);
      const stranger = await ask("02:00:00:00:00:05");
      const { activation } = stranger.body as { activation?: Record<string, unknown> };
      expect([stranger.status, Object.keys(activation ?? {})]).toEqual([
        200,
        ["message", "challenge", "timeout_ms"],
      ]);
    }
    await server.startAgain();
    await until(async () => {
      const { activation } = (await ask("02:00:00:00:00:05")).body as { activation?: { code?: string } };
      return activation?.code;
    }, "a code for the new one");
  }, 60_000);

  it("rejects requests within seconds when it hangs, later at once, and recovers without a restart", async () => {
    const site = await siteOnPostgres();
    const device = await site.join({ tools: [tool("a")] });
    expect((await site.rest("GET", "/calls")).status).toBe(200);
    server.freeze();
    try {
      const frozen = performance.now();
      expect(await answeredCall(site, device)).toBe(200);
      expect((await readiness(site)).status).toBe(503);
      expect(performance.now() - frozen).toBeLessThan(4_000);
      expect(await refusals(site)).toEqual(refused);
      expect(performance.now() - frozen).toBeLessThan(12_000);
      const known = performance.now();
      expect((await readiness(site)).status).toBe(503);
      for (let count = 0; count < 3; count += 1) expect(await answeredCall(site, device)).toBe(200);
      expect(performance.now() - known).toBeLessThan(2_000);
    } finally {
      server.thaw();
    }
    await until(async () => (await readiness(site)).status === 200, "the storage to be back");
    await until(async () => (await site.rest("GET", "/calls")).status === 200, "the history");
    expect((await site.rest("POST", "/tokens", { name: "x", scopes: ["read"] })).status).toBe(201);
  }, 60_000);

  it("stops in time, although it cannot write its pending data", async () => {
    const gateway = serve(await server.newDatabase());
    await gateway.until("stdout", /^tendon ready/m);
    server.freeze();
    try {
      const asked = performance.now();
      expect((await gateway.end("SIGTERM")).code).toBe(0);
      expect(performance.now() - asked).toBeLessThan(5_000);
    } finally {
      server.thaw();
    }
  }, 60_000);
});

function serve(storage: string) {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return start(["serve", "--port", "0", "--mqtt-port", "0"], {
    cwd: folder.path,
    env: { TENDON_STORAGE: storage },
  });
}

describe("a start without PostgreSQL", () => {
  it("waits for it, logs that, and continues when it is available", async () => {
    const url = await server.newDatabase();
    await server.stop();
    const gateway = serve(url);
    const said = await gateway.until("stderr", /"kind":"waiting","detail":"([^"]+)","waitedMs":\d+/);
    expect(said[1]).toMatch(/^PostgreSQL: .*ECONNREFUSED/);
    await server.startAgain();
    await gateway.until("stdout", /^tendon ready/m);
    expect((await gateway.end()).code).toBe(0);
  }, 60_000);

  it("can be cancelled while it waits", async () => {
    const url = await server.newDatabase();
    await server.stop();
    const gateway = serve(url);
    await gateway.until("stderr", /"kind":"waiting"/);
    const asked = performance.now();
    const { code, stdout } = await gateway.end("SIGTERM");
    expect([code, stdout]).toEqual([0, ""]);
    expect(performance.now() - asked).toBeLessThan(5_000);
    await server.startAgain();
  }, 60_000);

  it("fails at once when waiting would not help, without printing the password", async () => {
    const url = (await server.newDatabase()).replace("tendon@", "tendon:open-sesame-123@");
    const gateway = serve(url.replace(/[^/]+$/, "nowhere"));
    const { code, stderr } = await gateway.finished();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^tendon: The storage at 127\.0\.0\.1:\d+\/nowhere cannot be used \(PostgreSQL: database "nowhere" does not exist/m,
    );
    expect(stderr).not.toContain("open-sesame-123");
  }, 60_000);
});
