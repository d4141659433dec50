/** Runs the official conformance suite against an address, and reads its results. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, "..", "tools", "node_modules");
const suite = path.join(modules, "@modelcontextprotocol", "conformance");

export interface Outcome {
  readonly code: number | null;
  /** Scenarios. */
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Checks as `scenario check`, each with all its results: SUCCESS, FAILURE, or INFO if it does not apply. */
  readonly checks: ReadonlyMap<string, ReadonlySet<string>>;
  readonly said: string;
}

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

/** Returns the results of the required scenarios. */
export async function run(url: string, revision: string, results: string): Promise<Outcome> {
  const folder = fs.mkdtempSync(path.join(results, "results-"));
  const args = [
    ...[path.join(suite, "dist", "index.js"), "server"],
    ...["--url", url, "--requirements", revision],
    ...["--expected-failures", path.join(here, "expected-failures.yml")],
    ...["--output-dir", folder],
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
  return {
    code,
    passed: names(true).toSorted(),
    failed: names(false).toSorted(),
    checks: checksIn(folder, required),
    said,
  };
}

function checksIn(folder: string, required: readonly string[]): Map<string, Set<string>> {
  const checks = new Map<string, Set<string>>();
  for (const name of fs.readdirSync(folder)) {
    // The name ends with the time of the run.
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, "");
    const file = path.join(folder, name, "checks.json");
    // A scenario that broke off has none.
    if (!required.includes(scenario) || !fs.existsSync(file)) continue;
    const all = JSON.parse(fs.readFileSync(file, "utf8")) as readonly { id: string; status: string }[];
    for (const { id, status } of all) {
      const key = `${scenario} ${id}`;
      checks.set(key, (checks.get(key) ?? new Set()).add(status));
    }
  }
  return checks;
}

/** Starts a server over HTTP that prints its port first, and returns its address. */
export async function serve(file: string, children: ChildProcess[]): Promise<string> {
  const child = spawn(process.execPath, [path.join(here, file), "http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`${file} ended before it served`)));
  const [port] = (await Promise.race([once(child.stdout, "data"), ended])) as [Buffer];
  return `http://127.0.0.1:${port.toString().trim()}/mcp`;
}
