/** Console sessions over HTTP [CON-1…4], as a browser uses them and as an attacker might. */
import { describe, expect, it } from "vitest";
import { unusedName } from "../access/tokens.ts";
import { EventReader } from "../event-reader.ts";
import { type Answer, ask, askAll } from "../http-client.ts";
import { ManualClock } from "../manual-clock.ts";
import { adminToken, openSite, type Site } from "../site.ts";

const header = { "x-tendon-console": "1" };

interface Asked {
  readonly method?: string;
  readonly cookie?: string;
  readonly headers?: Record<string, string | undefined>;
  readonly body?: unknown;
}

/** Sends a request as the page does. Headers that are `undefined` are omitted. */
async function page(site: Site, path: string, asked: Asked = {}): Promise<Answer> {
  const all = {
    origin: site.url,
    ...header,
    ...(asked.cookie === undefined ? {} : { cookie: asked.cookie }),
    ...(asked.body === undefined ? {} : { "content-type": "application/json" }),
    ...asked.headers,
  };
  return await askAll(site.url, {
    method: asked.method ?? "GET",
    path,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
    body: asked.body === undefined ? undefined : JSON.stringify(asked.body),
  });
}

async function signIn(site: Site, secret: string): Promise<{ answer: Answer; cookie: string }> {
  const answer = await page(site, "/api/v1/session", { method: "POST", body: { secret } });
  const [set = ""] = answer.headers["set-cookie"] ?? [];
  return { answer, cookie: set.split(";")[0] ?? "" };
}

function codeOf(link: string): string {
  return /#code=([a-z0-9-]+)$/.exec(link)?.[1] ?? "";
}

describe("signing in", () => {
  it("[CON-1] sets a cookie that is valid under /api/v1 only and that no script can read", async () => {
    const site = await openSite();
    const { answer, cookie } = await signIn(site, adminToken);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      principal: { name: "admin", limited: false },
      gateway: { demo: false },
    });
    const [set = ""] = answer.headers["set-cookie"] ?? [];
    expect(set).toMatch(
      /^tendon_[0-9a-f]{12}=[\w-]{43}; Path=\/api\/v1; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect((await page(site, "/api/v1/devices", { cookie })).status).toBe(200);
    expect((await page(site, "/api/v1/session", { cookie })).body).toMatchObject({
      principal: { name: "admin" },
    });
    const restarted = await openSite();
    expect((await signIn(restarted, adminToken)).cookie.split("=")[0]).not.toBe(cookie.split("=")[0]);
  });

  it("[CON-1] sets Secure when the page was loaded over TLS", async () => {
    const site = await openSite({ config: { http: { trustProxy: true } } });
    const answer = await page(site, "/api/v1/session", {
      method: "POST",
      body: { secret: adminToken },
      headers: { "x-forwarded-proto": "https", origin: site.url.replace("http:", "https:") },
    });
    expect(answer.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
  });

  it("returns no principal without a session, which is not an error", async () => {
    const site = await openSite();
    const { status, body } = await page(site, "/api/v1/session");
    expect({ status, body }).toEqual({ status: 200, body: { principal: null, gateway: null } });
    expect((await page(site, "/api/v1/devices")).status).toBe(401);
    expect((await page(site, "/api/v1/devices", { cookie: "tendon_x=y" })).status).toBe(401);
  });

  it("[CON-2] accepts the code of a printed link once, however it is typed", async () => {
    const site = await openSite();
    const link = site.tendon.consoleLink();
    expect(link).toMatch(new RegExp(`^${site.url}/#code=([a-z0-9]{4}-){3}[a-z0-9]{4}$`));
    const typed = ` ${codeOf(link).toUpperCase().replaceAll("-", " ")} `;
    expect((await signIn(site, typed)).answer.status).toBe(200);
    expect((await signIn(site, codeOf(link))).answer.body["code"]).toBe("unauthenticated");
  });

  it("[CON-2] creates a code for the caller's token, valid for 15 minutes", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const made = await site.rest("POST", "/tokens", { name: "viewer", scopes: ["read"] });
    const as = { authorization: `Bearer ${String(made.body["token"])}` };
    const first = await site.rest("POST", "/session/codes", undefined, as);
    expect(first.status).toBe(201);
    const { answer } = await signIn(site, String(first.body["code"]));
    expect(answer.body["principal"]).toEqual({ name: "viewer", scopes: ["read"], limited: false });
    const second = await site.rest("POST", "/session/codes", undefined, as);
    clock.advance(15 * 60_000);
    expect((await signIn(site, String(second.body["code"]))).answer.status).toBe(401);
  });

  it("[CON-3] makes an address wait after wrong secrets, for a limited time", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await signIn(site, `wrong-${attempt}`)).answer.status).toBe(401);
    }
    const refused = (await signIn(site, adminToken)).answer;
    expect(refused.body).toMatchObject({ code: "rate_limited", retryAfterMs: 6000 });
    clock.advance(6_000);
    expect((await signIn(site, adminToken)).answer.status).toBe(200);
  });

  it("rejects a missing secret and one that is too long", async () => {
    const site = await openSite();
    expect((await signIn(site, "x".repeat(513))).answer.body["code"]).toBe("bad_request");
    expect((await signIn(site, "")).answer.body["code"]).toBe("bad_request");
  });
});

describe("requests of the page", () => {
  it("[CON-4] need an equal Origin including the port, and the console's header, when they change something", async () => {
    const site = await openSite();
    const { cookie } = await signIn(site, adminToken);
    const make = (headers: Record<string, string | undefined>) =>
      page(site, "/api/v1/tokens", {
        method: "POST",
        cookie,
        headers,
        body: { name: "x", scopes: ["read"] },
      });
    expect((await make({})).status).toBe(201);
    const otherPort = site.url.replace(/\d+$/, "1");
    for (const headers of [
      { origin: undefined },
      { origin: otherPort },
      { origin: site.url.replace("127.0.0.1", "localhost") },
      { origin: "null" },
      { "x-tendon-console": undefined },
    ]) {
      expect((await make(headers)).body, JSON.stringify(headers)).toMatchObject({ code: "forbidden" });
    }
    const stolen = await page(site, "/api/v1/session", {
      method: "POST",
      body: { secret: adminToken },
      headers: { origin: otherPort },
    });
    expect(stolen.status).toBe(403);
  });

  it("use their token if they have one, with or without a cookie", async () => {
    const site = await openSite();
    const { cookie } = await signIn(site, adminToken);
    const headers = { authorization: "Bearer wrong" };
    expect((await page(site, "/api/v1/devices", { cookie, headers })).status).toBe(401);
  });

  it("are not authenticated outside /api/v1", async () => {
    const site = await openSite();
    const { cookie } = await signIn(site, adminToken);
    const answer = await page(site, "/mcp", { method: "POST", cookie, body: {} });
    expect([401, 404]).toContain(answer.status);
  });
});

describe("a session", () => {
  it("ends at sign-out, with its open streams", async () => {
    const site = await openSite();
    const { cookie } = await signIn(site, adminToken);
    const stream = new EventReader(await ask(site.url, { path: "/api/v1/events", headers: { cookie } }));
    const out = await page(site, "/api/v1/session", { method: "DELETE", cookie });
    expect(out.status).toBe(204);
    expect(out.headers["set-cookie"]?.[0]).toContain("Max-Age=0");
    await stream.ended;
    expect((await page(site, "/api/v1/devices", { cookie })).status).toBe(401);
  });

  it("ends when its token is revoked or expires", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const expiresAt = new Date(clock.now() + 3_600_000).toISOString();
    const make = (more: object) =>
      site.rest("POST", "/tokens", { name: unusedName(site, "p"), scopes: ["read"], ...more });
    const revoked = await make({});
    const expiring = await make({ expiresAt });
    const first = await signIn(site, String(revoked.body["token"]));
    const second = await signIn(site, String(expiring.body["token"]));
    const status = async (cookie: string) => (await page(site, "/api/v1/devices", { cookie })).status;
    expect([await status(first.cookie), await status(second.cookie)]).toEqual([200, 200]);
    await site.rest("DELETE", `/tokens/${String(revoked.body["id"])}`);
    expect([await status(first.cookie), await status(second.cookie)]).toEqual([401, 200]);
    clock.advance(3_600_000);
    expect(await status(second.cookie)).toBe(401);
  });

  it("ends after twelve hours without use, and after a week at the latest", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const idle = (await signIn(site, adminToken)).cookie;
    const used = (await signIn(site, adminToken)).cookie;
    const status = async (cookie: string) =>
      (await page(site, "/api/v1/session", { cookie })).body["principal"];
    for (let hours = 0; hours < 12; hours += 4) {
      clock.advance(4 * 3_600_000);
      expect(await status(used)).not.toBeNull();
    }
    expect(await status(idle)).toBeNull();
    for (let hours = 12; hours < 164; hours += 8) {
      clock.advance(8 * 3_600_000);
      await status(used);
    }
    expect(await status(used)).not.toBeNull();
    clock.advance(8 * 3_600_000);
    expect(await status(used)).toBeNull();
  });
});
