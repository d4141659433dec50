import { describe, expect, it } from "vitest";
import { Broker, hosted } from "../endpoint/frames.ts";
import { answer, makeToken, online, provide } from "../endpoint/provider.ts";
import { until } from "../inbox.ts";
import { type Fields, textContent } from "../raw-device.ts";
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

describe("a tool provider of a cluster of three", () => {
  const engines = new Engines();

  it("[END-11] is used from every node, and keeps its id on another", async () => {
    const fleet = await engines.newFleet();
    const sites = (await fleet.nodes(3, { config: { endpoint: { enabled: true } } })) as [Site, Site, Site];
    const [one, two] = sites;
    const token = await makeToken(two);
    const peer = await until(
      async () => await provide(one, token, "calculator").catch(() => undefined),
      "it",
    );
    for (const site of sites) {
      expect(await online(site, "calculator")).toMatchObject({ kind: "endpoint", transport: "endpoint" });
      await until(async () => (await site.toolNames("calculator")).includes("add"), "its tools");
      const called = site.call("calculator", "add");
      answer(peer, await peer.next(), textContent("3"));
      expect((await called).body["result"]).toMatchObject({ content: [{ text: "3" }] });
    }
    await two.rest("PATCH", "/devices/calculator", { alias: "sums" });
    await one.stop();
    expect((await peer.closed()).code).toBe(1001);
    const again = await provide(two, token, "calculator");
    for (const site of sites.slice(1))
      expect(await online(site, "calculator")).toMatchObject({ id: "calculator", alias: "sums" });
    for (const site of sites.slice(1)) {
      const called = until(async () => {
        const { status, body } = await site.call("calculator", "add");
        return status === 200 && body;
      }, "the call");
      answer(again, await again.next(), textContent("4"));
      expect((await called)["result"]).toMatchObject({ content: [{ text: "4" }] });
    }
  }, 60_000);

  it("[END-11] is replaced by a newer connection at another node, and one name of two tokens is two devices", async () => {
    const fleet = await engines.newFleet();
    const sites = (await fleet.nodes(3, { config: { endpoint: { enabled: true } } })) as [Site, Site, Site];
    const [one, two, three] = sites;
    const [house, shed] = [await makeToken(one, "house"), await makeToken(one, "shed")];
    const connected = async (site: Site, token: string) =>
      // A node learns of a new token a moment later.
      await until(async () => await provide(site, token, "calculator").catch(() => undefined), "it");
    const older = await connected(one, house);
    await online(three, "calculator");
    const newer = await connected(two, house);
    expect((await older.closed()).code).toBe(1001);
    for (const site of sites) {
      const called = until(async () => {
        const { status, body } = await site.call("calculator", "add");
        return status === 200 && body;
      }, "the call");
      answer(newer, await newer.next(), textContent("5"));
      expect((await called)["result"]).toMatchObject({ content: [{ text: "5" }] });
    }
    await connected(three, shed);
    for (const site of sites) {
      await online(site, "calculator");
      expect(await online(site, "calculator-2")).toMatchObject({ alias: "calculator-2", kind: "endpoint" });
    }
    const { body } = await one.rest("GET", "/endpoints");
    const { providers } = body["incoming"] as unknown as { providers: Fields[] };
    expect(providers.map(({ token, device }) => `${String(token)} ${String(device)}`).sort()).toEqual([
      "house calculator",
      "shed calculator-2",
    ]);
  }, 60_000);
});
