/** One token cannot use up what all share: sign-ins, codes, event streams, waits and jobs. */
import { describe, expect, it } from "vitest";
import { unusedName } from "./access/tokens.ts";
import { until } from "./inbox.ts";
import { adminToken, openSite, type Site } from "./site.ts";
import { stallWatch } from "./stall-watch.ts";

async function makeToken(site: Site, name: string, scopes: string[] = ["read"]) {
  const { body } = await site.rest("POST", "/tokens", { name: unusedName(site, name), scopes });
  return { authorization: `Bearer ${String(body["token"])}` };
}

function asPage(site: Site) {
  return { origin: site.url, "x-tendon-console": "1" };
}

/** Signs in at the console, and returns the session's cookie. */
async function signIn(site: Site, secret: string): Promise<string> {
  const answer = await fetch(`${site.url}/api/v1/session`, {
    method: "POST",
    headers: { ...asPage(site), "content-type": "application/json" },
    body: JSON.stringify({ secret }),
  });
  expect(answer.status).toBe(200);
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

async function isSignedIn(site: Site, cookie: string): Promise<boolean> {
  const answer = await fetch(`${site.url}/api/v1/session`, { headers: { ...asPage(site), cookie } });
  const { principal } = (await answer.json()) as { principal: unknown };
  return principal !== null;
}

describe("a token that takes all it can get", () => {
  it("signs in 260 times: an administrator stays signed in", async () => {
    const site = await openSite();
    const admin = await signIn(site, adminToken);
    const { authorization } = await makeToken(site, "greedy");
    const secret = authorization.slice("Bearer ".length);
    const first = await signIn(site, secret);
    let last = first;
    for (let count = 0; count < 259; count += 1) last = await signIn(site, secret);
    expect(await isSignedIn(site, admin)).toBe(true);
    expect(await isSignedIn(site, last)).toBe(true);
    expect(await isSignedIn(site, first)).toBe(false);
  });

  it("makes codes without end: an administrator's link still works", async () => {
    const site = await openSite();
    const link = site.tendon.consoleLink();
    const greedy = await makeToken(site, "greedy");
    for (let count = 0; count < 40; count += 1)
      expect((await site.rest("POST", "/session/codes", {}, greedy)).status).toBeLessThan(300);
    const code = new URL(link).hash.slice("#code=".length);
    expect(await signIn(site, code)).not.toBe("");
  });

  it("opens event streams without end: others and administrators still get theirs", async () => {
    const site = await openSite({ config: { http: { trustProxy: true } } });
    // A response that nobody refers to would be collected, and its stream closed.
    const streams: { readonly controller: AbortController; readonly answer: Response }[] = [];
    const open = async (token: { authorization: string }, from = "192.0.2.1") => {
      const controller = new AbortController();
      const headers = { ...token, "x-forwarded-for": from };
      const answer = await fetch(`${site.url}/api/v1/events`, { headers, signal: controller.signal });
      streams.push({ controller, answer });
      return answer;
    };
    const greedy = await makeToken(site, "greedy");
    let refused: Response | undefined;
    for (let count = 0; count < 512 && refused === undefined; count += 1) {
      const answer = await open(greedy);
      if (answer.status !== 200) refused = answer;
    }
    expect(streams.length).toBe(129);
    expect(await refused?.json()).toMatchObject({ code: "rate_limited", retryable: true });
    expect((await open(await makeToken(site, "other"))).status).toBe(200);
    // Several of them together leave room for other addresses, and for administrators.
    for (const name of ["second", "third", "fourth"]) {
      const headers = await makeToken(site, name);
      for (let count = 0; count < 128; count += 1) await open(headers);
    }
    const fifth = await makeToken(site, "fifth");
    expect(await (await open(fifth)).json()).toMatchObject({
      code: "rate_limited",
      detail: "this address has too many open event streams; end one, or retry later",
    });
    for (let count = 0; count < 64; count += 1) expect((await open(fifth, "192.0.2.2")).status).toBe(200);
    expect((await open(fifth, "192.0.2.3")).status).toBe(429);
    expect((await open({ authorization: `Bearer ${adminToken}` })).status).toBe(200);
    await stallWatch.ownWork(async () => {
      for (const { controller } of streams) controller.abort();
    });
    await until(async () => (await open(greedy)).status === 200, "places given back");
    for (const { controller } of streams) controller.abort();
  });
});
