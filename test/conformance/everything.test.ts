/**
 * The official "everything" server over Streamable HTTP as a device: what the conformance suite finds good in the server
 * alone, it finds good at /mcp/devices/{alias}. The suite's own fixtures have names that this server lacks, so much of it
 * fails alone too; conformance.test.ts has servers with all of them.
 */
import type { ChildProcess } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Site, startSite } from "../site.ts";
import { type Forwarder, openForwarder } from "./forwarder.ts";
import { run, serve } from "./suite.ts";

/**
 * These call a tool that the server does not have, and are content with any text. Its SDK answers an unknown tool with one.
 * The gateway answers with the protocol's error, as the specification says [SRV-5].
 */
const calledTools: Readonly<Record<string, string>> = {
  "tools-call-simple-text": "test_simple_text",
  "tools-call-error": "test_error_handling",
};
const revisions = ["2025-11-25", "2026-07-28"];

describe.concurrent("the official everything server over HTTP", () => {
  const children: ChildProcess[] = [];
  const urls: string[] = [];
  let site: Site;
  let forwarder: Forwarder;

  beforeAll(async () => {
    urls.push(...(await Promise.all(revisions.map(() => serve("everything.mjs", children)))));
    const http = urls.map((url, at) => ({ alias: `everything-${at}`, url }));
    site = await startSite({ config: { devices: { http } } });
    for (const { alias } of http) {
      await site.listed(alias);
      expect(await site.device(alias)).toMatchObject({ kind: "http", protocolVersion: "2025-11-25" });
    }
    const { body } = await site.rest("POST", "/tokens", { name: "suite", scopes: ["read", "call"] });
    forwarder = await openForwarder(site.url, String(body["token"]));
  });
  afterAll(async () => {
    for (const child of children) child.kill();
    await forwarder.close();
    await site.stop();
  });

  it.each([
    [0, "2025-11-25", 11, 30],
    [1, "2026-07-28", 1, 5],
  ])(
    "[HTD-1] passes through a gateway what it passes alone (%i, %s)",
    async (at, revision, scenarios, checks) => {
      const alone = await run(urls[at] ?? "", revision, site.folder);
      const through = await run(`${forwarder.url}/mcp/devices/everything-${at}`, revision, site.folder);
      expect(alone.passed.length, alone.said.slice(-2_000)).toBeGreaterThanOrEqual(scenarios);
      const tools = await site.toolNames(`everything-${at}`);
      const counts = (scenario = "") => {
        const tool = calledTools[scenario];
        return tool === undefined || tools.includes(tool);
      };
      const lost = alone.passed.filter((name) => counts(name) && !through.passed.includes(name));
      expect(lost, through.said.slice(-2_000)).toEqual([]);
      const good = [...alone.checks].filter(([check, results]) => {
        return counts(check.split(" ")[0]) && [...results].every((result) => result === "SUCCESS");
      });
      expect(good.length).toBeGreaterThan(checks);
      const bad = good.filter(([check]) => through.checks.get(check)?.has("FAILURE") !== false);
      expect(bad).toEqual([]);
    },
    180_000,
  );
});
