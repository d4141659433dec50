import { describe, expect, it } from "vitest";
import { Broker, hosted } from "../endpoint/frames.ts";
import { until } from "../inbox.ts";
import type { Fields } from "../raw-device.ts";
import type { Site } from "../site.ts";
import { Engines } from "./nodes.ts";

describe("an outgoing endpoint of a cluster", () => {
  const engines = new Engines();

  it("[END-8] is held by one node, is known to all, and moves when that node stops", async () => {
    const broker = await Broker.open();
    const endpoints = [{ url: broker.url("a-token-of-the-agent"), token: "voice" }];
    const fleet = await engines.newFleet();
    const [one, two] = (await fleet.nodes(2, { config: { agents: { endpoints } } })) as [Site, Site];
    await two.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    const peer = await broker.arrival();
    expect(await peer.ask(hosted.initialize)).toMatchObject({ id: 0 });
    for (const site of [one, two]) {
      const list = await until(async () => {
        const { body } = await site.rest("GET", "/endpoints");
        return body["endpoints"] as Fields[];
      });
      expect(list.map(({ state }) => state)).toEqual(["connected"]);
    }
    await one.stop();
    const next = await broker.arrival();
    expect(await next.ask(hosted.initialize)).toMatchObject({ id: 0 });
  }, 60_000);
});
