/** [RATE-5] Rate limits of a client that uses several nodes. */
import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();
const burst = 60;
/** One token in a hundred seconds, so that next to nothing is refilled during a test. */
const slow = { perSecond: 0.01, burst };

async function threeNodes(limits: object): Promise<Site[]> {
  return await (await engines.newFleet()).nodes(3, { config: { limits } });
}

/** Sends requests to the nodes in turn until every node rejects one; returns how many were accepted. */
async function spendAll(sites: readonly Site[], ask: (site: Site) => Promise<number>): Promise<number> {
  let allowed = 0;
  for (let refused = 0, turn = 0; refused < sites.length; turn += 1) {
    const site = sites[turn % sites.length];
    if (site === undefined || turn > 10 * burst) throw new TypeError("there is no end of it");
    const status = await ask(site);
    refused = status === 429 ? refused + 1 : 0;
    if (status !== 429) allowed += 1;
  }
  return allowed;
}

describe("[RATE-5] on three nodes", () => {
  it("a token has one burst, not three; other tokens are not affected", async () => {
    const sites = await threeNodes({ principal: slow });
    const [first] = sites as [Site];
    const { token } = await makeToken(first, {});
    const look = async (site: Site) => (await site.rest("GET", "/devices", undefined, as(token))).status;
    const allowed = await spendAll(sites, look);
    expect(allowed).toBeGreaterThanOrEqual(burst);
    expect(allowed).toBeLessThanOrEqual(burst + Math.ceil((2 * burst) / 20) + 6);
    const another = await makeToken(first, {});
    expect((await first.rest("GET", "/devices", undefined, as(another.token))).status).toBe(200);
  });

  it("requests to one node count on the others within a moment", async () => {
    const sites = await threeNodes({ principal: slow });
    const [one, two, three] = sites as [Site, Site, Site];
    const { token } = await makeToken(one, {});
    const look = async (site: Site) => (await site.rest("GET", "/devices", undefined, as(token))).status;
    expect(await spendAll([one], look)).toBe(burst);
    for (const site of [two, three])
      await until(async () => (await look(site)) === 429, "a refusal there too");
  });

  it("a client that guesses tokens has the guesses of one node", async () => {
    const sites = await threeNodes({ failedSignIns: slow });
    const guess = async (site: Site) =>
      (await askAll(site.url, { path: "/api/v1/devices", headers: as("an-unknown-token-of-24-chars") }))
        .status;
    const allowed = await spendAll(sites, guess);
    expect(allowed).toBeGreaterThanOrEqual(burst);
    expect(allowed).toBeLessThanOrEqual(burst + Math.ceil((2 * burst) / 20) + 6);
  });
});
