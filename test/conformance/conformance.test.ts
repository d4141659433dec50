/**
 * The official conformance suite against the real gateway, in both eras. The suite's fixtures are devices: standard MCP
 * servers that the gateway runs, each shown without prefix at /mcp/devices/{alias}. One is of the newer era, and its twin
 * of the older; that one must pass behind the gateway what it passes alone.
 */
import type { ChildProcess } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Site, startSite } from "../site.ts";
import { type Forwarder, openForwarder } from "./forwarder.ts";
import { run, serve } from "./suite.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const fixtures = "fixtures.mjs";
const oldFixtures = "old-fixtures.mjs";

// One after the other: the suite itself gives a server 0.8 s for some answers.
describe("the official conformance suite", () => {
  let site: Site;
  let forwarder: Forwarder;
  const children: ChildProcess[] = [];
  let aloneUrl: string;

  beforeAll(async () => {
    const device = (alias: string, file: string) => ({
      alias,
      command: process.execPath,
      args: [path.join(here, file)],
      protocol: "mcp" as const,
    });
    // One server per run, because a run changes its lists, which would notify another run.
    const stdio = [device("new-25", fixtures), device("new-26", fixtures), device("old-25", oldFixtures)];
    const files = [oldFixtures, fixtures, fixtures, oldFixtures];
    const urls = await Promise.all(files.map((file) => serve(file, children)));
    const [alone = "", ...served] = urls;
    aloneUrl = alone;
    const http = ["http-25", "http-26", "http-old-25"].map((alias, at) => ({ alias, url: served[at] ?? "" }));
    site = await startSite({ config: { devices: { stdio, http } } });
    const versions = [...stdio, ...http].map(async ({ alias }) => {
      await site.listed(alias);
      return (await site.device(alias))["protocolVersion"];
    });
    const eras = ["2026-07-28", "2026-07-28", "2025-11-25"];
    expect(await Promise.all(versions)).toEqual([...eras, ...eras]);
    const { body } = await site.rest("POST", "/tokens", { name: "suite", scopes: ["read", "call"] });
    forwarder = await openForwarder(site.url, String(body["token"]));
  });
  afterAll(async () => {
    for (const child of children) child.kill();
    await forwarder.close();
    await site.stop();
  });

  const through = (alias: string, revision: string) =>
    run(`${forwarder.url}/mcp/devices/${alias}`, revision, site.folder);

  it.each([
    ["2025-11-25", "new-25", 30],
    ["2026-07-28", "new-26", 37],
    ["2025-11-25", "http-25", 30],
    ["2026-07-28", "http-26", 37],
  ])(
    "passes what %s requires (%s), all %i scenarios",
    async (revision, alias, required) => {
      const { code, passed, failed, checks, said } = await through(alias, revision);
      const failing = [...checks].flatMap(([check, results]) => (results.has("FAILURE") ? [check] : []));
      expect({ failed, failing }).toEqual({ failed: [], failing: [] });
      expect(passed).toHaveLength(required);
      expect(code, said.slice(-2_000)).toBe(0);
    },
    180_000,
  );

  it("[PRC-10] [HTD-1] passes with a server of the older era what that server passes alone, all 30 scenarios", async () => {
    const [itself, ...behind] = await Promise.all([
      run(aloneUrl, "2025-11-25", site.folder),
      through("old-25", "2025-11-25"),
      through("http-old-25", "2025-11-25"),
    ]);
    expect(itself.failed, itself.said.slice(-2_000)).toEqual([]);
    for (const { failed, passed, said } of behind) {
      expect(failed, said.slice(-2_000)).toEqual([]);
      expect(passed).toEqual(itself.passed);
      expect(passed).toHaveLength(30);
    }
  }, 180_000);
});
