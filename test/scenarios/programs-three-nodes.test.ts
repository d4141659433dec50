import { afterAll, beforeAll, describe } from "vitest";
import { atOnce, Engines } from "../cluster/nodes.ts";
import { until } from "../inbox.ts";
import { type Site, startSite } from "../site.ts";
import { endpointHost, httpHost } from "./program-host.ts";
import { programSettings } from "./program-settings.ts";
import { programScenarios } from "./programs.ts";

describe("on three nodes", () => {
  const engines = new Engines();
  const sites: Site[] = [];

  beforeAll(async () => {
    const { cluster, storage } = await engines.newFleet();
    for (let number = 0; number < 3; number += 1)
      sites.push(await startSite({ config: { drain: atOnce, ...programSettings, cluster, storage } }));
    for (const site of sites)
      await until(async () => {
        const { body } = await site.rest("GET", "/nodes");
        return (body as { nodes: unknown[] }).nodes.length === 3;
      }, "nodes that know one another");
  });
  afterAll(async () => {
    await Promise.all(sites.map((site) => site.stop()));
  });

  const spread = async () => {
    const [holder, entrance, lookout] = sites;
    if (holder === undefined || entrance === undefined || lookout === undefined)
      throw new TypeError("three were started");
    return { holder, entrance, lookout };
  };

  describe("an MCP server over HTTP", () => programScenarios(httpHost("sessions"), spread));
  describe("a tool provider that has dialled in", () => programScenarios(endpointHost, spread));
});
