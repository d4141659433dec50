/**
 * The official conformance suite against the real gateway, in both eras. The suite's fixtures are devices: standard MCP
 * servers that the gateway runs, each shown without prefix at /mcp/devices/{alias}. One is of the newer era, and its twin
 * of the older; that one must pass behind the gateway what it passes alone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Site, startSite } from "../site.ts";
import { type Forwarder, openForwarder } from "./forwarder.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, "..", "tools", "node_modules");
const suite = path.join(modules, "@modelcontextprotocol", "conformance");
const oldFixtures = path.join(here, "old-fixtures.mjs");

/** The suite needs Node 22: this one if it is new enough, or one installed for it. */
function nodeForSuite(): string {
  if (Number(process.versions.node.split(".")[0]) >= 22) return process.execPath;
  return path.join(modules, `node-${process.platform}-${process.arch}`, "bin", "node");
}

/** The required server scenarios of a revision; the suite also runs optional ones. */
function requiredBy(revision: string): readonly string[] {
  const file = path.join(suite, "requirements", `${revision}.yaml`);
  return (parse(fs.readFileSync(file, "utf8")) as { server: string[] }).server;
}

interface Outcome {
  readonly code: number | null;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly said: string;
}

/** Runs the suite against an address, and returns the results of the required scenarios. */
async function run(url: string, revision: string, results: string): Promise<Outcome> {
  const args = [
    ...[path.join(suite, "dist", "index.js"), "server"],
    ...["--url", url, "--requirements", revision],
    ...["--expected-failures", path.join(here, "expected-failures.yml")],
    ...["--output-dir", fs.mkdtempSync(path.join(results, "results-"))],
  ];
  const child = spawn(nodeForSuite(), args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  const required = requiredBy(revision);
  const summary = said.slice(said.indexOf("=== SUMMARY ==="));
  const ended = [...summary.matchAll(/^([✓✗]) (\S+): \d+ passed/gm)]
    .map(([, mark, name = ""]) => ({ name, passed: mark === "✓" }))
    .filter(({ name }) => required.includes(name));
  const names = (passed: boolean) => ended.filter((one) => one.passed === passed).map(({ name }) => name);
  return { code, passed: names(true).toSorted(), failed: names(false).toSorted(), said };
}

/** Starts a fixture over HTTP, and returns its address. */
async function serve(file: string, children: ChildProcess[]): Promise<string> {
  const child = spawn(process.execPath, [file, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return `http://127.0.0.1:${port.toString().trim()}/mcp`;
}

describe.concurrent("the official conformance suite", () => {
  let site: Site;
  let forwarder: Forwarder;
  const children: ChildProcess[] = [];
  let aloneUrl: string;

  beforeAll(async () => {
    const device = (alias: string, file: string) => ({
      alias,
      command: process.execPath,
      args: [file],
      protocol: "mcp" as const,
    });
    // One server per run, because a run changes its lists, which would notify another run.
    const fixtures = path.join(here, "fixtures.mjs");
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
      const { code, passed, failed, said } = await through(alias, revision);
      expect(failed).toEqual([]);
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
