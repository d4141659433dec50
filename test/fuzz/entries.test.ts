/** Replays the corpus at every entry point of a gateway, with a few new inputs. `npm run fuzz` tries many more. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminToken, type Site, startSite } from "../site.ts";
import { corpusOf } from "./corpus.ts";
import { FuzzDevice } from "./entry/device.ts";
import { entriesWith, entryNames } from "./entry/entries.ts";
import { fuzzEntry, type Gateway } from "./entry/entry-engine.ts";
import { Programs } from "./entry/line-entry.ts";
import { limitedTokenOf } from "./entry/own-process.ts";
import { fuzzConfig } from "./entry/site-config.ts";

const inputs = 20;

describe("every entry point", () => {
  let site: Site;
  let programs: Programs;
  let gateway: Gateway;

  beforeAll(async () => {
    programs = new Programs();
    site = await startSite({ config: fuzzConfig(await programs.listen()) });
    const keeper = new FuzzDevice(site.url, "keeper");
    await keeper.connect();
    const limitedToken = await limitedTokenOf(site.url, adminToken);
    keeper.close();
    const mqttPort = Number(new URL(site.tendon.addresses.mqtt).port);
    gateway = {
      site: { url: site.url, mqttPort, adminToken, limitedToken },
      // The figures are for a gateway in a process of its own.
      figures: () => Promise.resolve({ longestTurnMs: 0, heapBytes: undefined, faults: [] }),
    };
  });

  afterAll(async () => {
    programs.close();
    await site.stop();
  });

  it.each(entryNames)("refuses with codes, and serves others: %s", async (name) => {
    const entry = entriesWith(programs).find((one) => one.name === name);
    if (entry === undefined) throw new RangeError(`no entry point ${name}`);
    const corpus = corpusOf(name).map(({ input }) => input);
    const { failure, outcomes } = await fuzzEntry(entry, gateway, corpus, { seed: 1, inputs, replay: true });
    expect(failure?.reason).toBeUndefined();
    expect(outcomes.size).toBeGreaterThan(0);
  });
});
