/**
 * The official conformance suite against the real gateway, in both eras. The suite's fixtures are a device: a standard
 * MCP server that the gateway runs, shown without prefix at /mcp/devices/suite.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openSite } from "../site.ts";
import { openForwarder } from "./forwarder.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, "..", "tools", "node_modules");
const suite = path.join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js");

/** The suite wants Node 22: this one, where it is new enough, or one that was installed for it. */
function nodeForSuite(): string {
  if (Number(process.versions.node.split(".")[0]) >= 22) return process.execPath;
  return path.join(modules, `node-${process.platform}-${process.arch}`, "bin", "node");
}

async function run(args: readonly string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(nodeForSuite(), [suite, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, said }));
  });
}

/** The scenarios of a server that a revision requires; the suite also runs some that count for nothing. */
async function requiredBy(revision: string): Promise<string[]> {
  const { said } = await run(["list", "--requirements", revision]);
  const server = said.slice(said.indexOf("Server scenarios"), said.indexOf("Client scenarios"));
  return [...server.matchAll(/^ {2}- (\S+)$/gm)].map(([, name = ""]) => name);
}

/** The scenarios of the summary, with how each ended. */
function scenariosIn(said: string): { name: string; passed: boolean }[] {
  const summary = said.slice(said.indexOf("=== SUMMARY ==="));
  return [...summary.matchAll(/^([✓✗]) (\S+): \d+ passed/gm)].map(([, mark, name = ""]) => ({
    name,
    passed: mark === "✓",
  }));
}

describe("the official conformance suite", () => {
  it.each([
    ["2025-11-25", 30],
    ["2026-07-28", 37],
  ])(
    "passes what %s requires, all %i scenarios",
    async (revision, required) => {
      const site = await openSite({
        config: {
          devices: {
            stdio: [
              {
                alias: "suite",
                command: process.execPath,
                args: [path.join(here, "fixtures.mjs")],
                protocol: "mcp",
              },
            ],
          },
        },
      });
      await site.listed("suite");
      const { body } = await site.rest("POST", "/tokens", { name: "suite", scopes: ["read", "call"] });
      const forwarder = await openForwarder(site.url, String(body["token"]));
      const results = fs.mkdtempSync(path.join(site.folder, "results-"));
      const { code, said } = await run([
        "server",
        ...["--url", `${forwarder.url}/mcp/devices/suite`],
        ...["--requirements", revision],
        ...["--expected-failures", path.join(here, "expected-failures.yml")],
        ...["--output-dir", results],
      ]);
      await forwarder.close();
      const scored = await requiredBy(revision);
      const scenarios = scenariosIn(said).filter(({ name }) => scored.includes(name));
      expect(scenarios.filter(({ passed }) => !passed)).toEqual([]);
      expect(scenarios).toHaveLength(required);
      expect(code, said.slice(-2_000)).toBe(0);
    },
    180_000,
  );
});
