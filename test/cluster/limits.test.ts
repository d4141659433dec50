/** [RATE-5] How much somebody may ask for who goes from node to node. */
import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

const engines = new Engines();
const burst = 60;
/** One in a hundred seconds: what comes back during a test is next to nothing. */
const slow = { perSecond: 0.01, burst };

async function threeNodes(limits: object): Promise<Site[]> {
  return await (await engines.newFleet()).nodes(3, { config: { limits } });
}

/** From node to node, one after the other, until every node refuses; how often it was let in. */
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
  it("a token has one burst, not three, and others go on", async () => {
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

  it("what was spent at one node alone is known to the others within moments", async () => {
    const sites = await threeNodes({ principal: slow });
    const [one, two, three] = sites as [Site, Site, Site];
    const { token } = await makeToken(one, {});
    const look = async (site: Site) => (await site.rest("GET", "/devices", undefined, as(token))).status;
    expect(await spendAll([one], look)).toBe(burst);
    for (const site of [two, three])
      await until(async () => (await look(site)) === 429, "a refusal there too");
  });

  it("somebody who guesses tokens has the guesses of one", async () => {
    const sites = await threeNodes({ failedSignIns: slow });
    const guess = async (site: Site) =>
      (await askAll(site.url, { path: "/api/v1/devices", headers: as("a-token-of-nobody-at-all") })).status;
    const allowed = await spendAll(sites, guess);
    expect(allowed).toBeGreaterThanOrEqual(burst);
    expect(allowed).toBeLessThanOrEqual(burst + Math.ceil((2 * burst) / 20) + 6);
  });
});
