/** Console sessions across gateway restarts [CON-1], and the reason that a page gets for an ended session. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ConfigInput, startTendon } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { secretWatch } from "../secret-watch.ts";

const adminToken = "an-admin-token-for-sessions";
const hourMs = 3_600_000;

/** One data folder, and the gateways that run with it one after the other on one clock. */
class Gateways {
  readonly clock = new ManualClock();
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-sessions-"));
  #url = "";
  #stop: () => Promise<void> = async () => {};

  static async start(): Promise<Gateways> {
    const gateways = new Gateways();
    onTestFinished(async () => {
      await gateways.stop();
      fs.rmSync(gateways.folder, { recursive: true, force: true });
    });
    await gateways.start();
    return gateways;
  }

  async start(token = adminToken, config: ConfigInput = {}): Promise<void> {
    const tendon = await startTendon(
      { data: this.folder, log: { level: "silent" }, ...config, http: { port: 0 }, mqtt: { port: 0 } },
      { adminToken: token, logger: secretWatch.logger(), clock: this.clock },
    );
    this.#url = tendon.url;
    this.#stop = () => tendon.stop();
  }

  async stop(): Promise<void> {
    const stop = this.#stop;
    this.#stop = async () => {};
    await stop();
  }

  async restart(token = adminToken): Promise<void> {
    await this.stop();
    await this.start(token);
  }

  async ask(
    method: string,
    at: string,
    { cookie, body }: { cookie?: string; body?: unknown } = {},
  ): Promise<Answer> {
    const who = cookie === undefined ? { authorization: `Bearer ${adminToken}` } : { cookie };
    return await askAll(this.#url, {
      method,
      path: `/api/v1${at}`,
      headers: {
        ...who,
        origin: this.#url,
        "x-tendon-console": "1",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  async signIn(secret = adminToken): Promise<string> {
    const { headers } = await this.ask("POST", "/session", { body: { secret } });
    return String(headers["set-cookie"]).split(";")[0] ?? "";
  }

  /** The name of the session's principal, or the reason why the session has ended. */
  async who(cookie: string): Promise<unknown> {
    const { body } = await this.ask("GET", "/session", { cookie });
    const { principal, ended } = body as { principal: { name: string } | null; ended?: string };
    const { status } = await this.ask("GET", "/devices", { cookie });
    expect(status).toBe(principal === null ? 401 : 200);
    return principal?.name ?? ended;
  }

  async token(name: string, more: object = {}): Promise<{ id: string; token: string }> {
    const { body } = await this.ask("POST", "/tokens", { body: { name, scopes: ["read"], ...more } });
    return { id: String(body["id"]), token: String(body["token"]) };
  }
}

describe("a console session", () => {
  it("[CON-1] continues after a restart, and its cookie is stored in no file", async () => {
    const gateways = await Gateways.start();
    const admin = await gateways.signIn();
    const viewer = await gateways.signIn((await gateways.token("viewer")).token);
    await gateways.restart();
    expect([await gateways.who(admin), await gateways.who(viewer)]).toEqual(["admin", "viewer"]);
    await gateways.stop();
    const secret = Buffer.from(admin.split("=")[1] ?? "");
    expect(secret).toHaveLength(43);
    const entries = fs.readdirSync(gateways.folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain("tendon.db");
    for (const { parentPath, name } of files)
      expect(fs.readFileSync(path.join(parentPath, name)).includes(secret), name).toBe(false);
  });

  it("[CON-1] stays ended after sign-out, also after a restart", async () => {
    const gateways = await Gateways.start();
    const [gone, stays] = [await gateways.signIn(), await gateways.signIn()];
    expect((await gateways.ask("DELETE", "/session", { cookie: gone })).status).toBe(204);
    expect(await gateways.who(gone)).toBe("signed_out");
    await gateways.restart();
    expect([await gateways.who(gone), await gateways.who(stays)]).toEqual(["unknown", "admin"]);
  });

  it("[CON-1] ends with its token, whether that ends before, during or after a restart", async () => {
    const gateways = await Gateways.start();
    const expiresAt = new Date(gateways.clock.now() + hourMs).toISOString();
    const tokens = [
      await gateways.token("first"),
      await gateways.token("second"),
      await gateways.token("third", { expiresAt }),
    ];
    const [first = "", second = "", third = ""] = await Promise.all(
      tokens.map(({ token }) => gateways.signIn(token)),
    );
    await gateways.ask("DELETE", `/tokens/${tokens[0]?.id ?? ""}`);
    expect(await gateways.who(first)).toBe("token");
    await gateways.stop();
    gateways.clock.advance(hourMs);
    await gateways.start();
    expect([await gateways.who(second), await gateways.who(third)]).toEqual(["second", "token"]);
    await gateways.ask("DELETE", `/tokens/${tokens[1]?.id ?? ""}`);
    expect(await gateways.who(second)).toBe("token");
    await gateways.restart();
    expect(await gateways.who(second)).toBe("unknown");
  });

  it("[CON-1] ends when the administrator's token was replaced", async () => {
    const gateways = await Gateways.start();
    const cookie = await gateways.signIn();
    await gateways.restart("another-admin-token-than-before");
    expect(await gateways.who(cookie)).toBe("token");
  });

  it("[CON-1] counts its idle time across a restart, from its last use", async () => {
    const gateways = await Gateways.start();
    const [used, idle] = [await gateways.signIn(), await gateways.signIn()];
    gateways.clock.advance(8 * hourMs);
    expect(await gateways.who(used)).toBe("admin");
    await gateways.stop();
    gateways.clock.advance(5 * hourMs);
    await gateways.start();
    expect([await gateways.who(used), await gateways.who(idle)]).toEqual(["admin", "idle"]);
  });

  it("[CON-1] ends after a week, with or without restarts", async () => {
    const gateways = await Gateways.start();
    const cookie = await gateways.signIn();
    for (let day = 0; day < 14; day += 1) {
      gateways.clock.advance(11.9 * hourMs);
      expect(await gateways.who(cookie)).toBe("admin");
      if (day % 5 === 4) await gateways.restart();
    }
    gateways.clock.advance(2 * hourMs);
    expect(await gateways.who(cookie)).toBe("age");
  });

  it("ends when there are more than 256 and it was idle the longest, also across a restart", async () => {
    const gateways = await Gateways.start();
    const [first, second] = [await gateways.signIn(), await gateways.signIn()];
    gateways.clock.advance(1_000);
    expect(await gateways.who(first)).toBe("admin");
    await gateways.restart();
    for (let more = 0; more < 255; more += 1) await gateways.signIn();
    expect([await gateways.who(first), await gateways.who(second)]).toEqual(["admin", "displaced"]);
  });

  it("counts its requests as uses of its token", async () => {
    const gateways = await Gateways.start();
    const { id, token } = await gateways.token("viewer");
    const cookie = await gateways.signIn(token);
    gateways.clock.advance(2 * hourMs);
    const usedAt = new Date(gateways.clock.now()).toISOString();
    expect((await gateways.ask("GET", "/devices", { cookie })).status).toBe(200);
    gateways.clock.advance(1_000);
    await until(async () => {
      const { body } = await gateways.ask("GET", "/tokens");
      const found = (body["tokens"] as { id: string }[]).find((each) => each.id === id);
      return JSON.stringify(found).includes(`"lastUsedAt":"${usedAt}","lastUsedFrom":"127.0.0.1"`);
    }, "the last use of the token");
  });

  it("returns the reason when it rejects a request", async () => {
    const gateways = await Gateways.start();
    const cookie = await gateways.signIn();
    gateways.clock.advance(12 * hourMs);
    await until(async () => (await gateways.who(cookie)) === "idle");
    const { body } = await gateways.ask("GET", "/devices", { cookie });
    expect(body).toMatchObject({
      code: "unauthenticated",
      detail: "the session ended after 12 hours without use; sign in again",
    });
  });
});
