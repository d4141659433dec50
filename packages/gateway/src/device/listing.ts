/**
 * Reads a device's whole tool list [MCP-3…8]: every page, without and with user-only tools. After a fault it keeps
 * the tools listed so far and reports the fault.
 */
import {
  isObject,
  type JsonObject,
  limits,
  repairTool,
  type ToolDefinition,
  type ToolSetAside,
} from "@tendon/protocol";
import { messageOf, TendonError } from "../errors.ts";

export interface Listing {
  readonly tools: readonly ToolDefinition[];
  readonly setAside: readonly ToolSetAside[];
  readonly complete: boolean;
  /** Why the list is incomplete. */
  readonly problem: string | undefined;
  /** The device stopped answering; its earlier list may still be valid. */
  readonly silent: boolean;
  /** The device lists more than the gateway keeps. */
  readonly truncated: boolean;
}

/** Requests one page and returns its `result`; rejects with a TendonError. */
export type AskPage = (params: JsonObject) => Promise<unknown>;

interface Pass {
  readonly entries: Map<string, unknown>;
  readonly setAside: ToolSetAside[];
  problem: string | undefined;
  silent: boolean;
  bytes: number;
  truncated: boolean;
}

function newPass(): Pass {
  return {
    entries: new Map(),
    setAside: [],
    problem: undefined,
    silent: false,
    bytes: 0,
    truncated: false,
  };
}

/** The firmware's first user-only tool. Listing can resume there if an oversize tool blocks the pages before it. */
const firstUserOnlyTool = "self.get_system_info";

export async function listTools(ask: AskPage): Promise<Listing> {
  const plain = await readPass(ask, {});
  if (plain.silent && plain.entries.size === 0) return conclude(plain, plain);
  const all = await readPass(ask, { withUserTools: true });
  if (all.problem !== undefined && !all.silent && !all.entries.has(firstUserOnlyTool)) {
    await resumeAt(ask, firstUserOnlyTool, all);
  }
  return conclude(plain, all);
}

/** For servers without user-only tools: one pass. */
export async function listPlainTools(ask: AskPage): Promise<Listing> {
  const plain = await readPass(ask, {});
  return conclude(plain, plain);
}

async function readPass(ask: AskPage, base: JsonObject): Promise<Pass> {
  const pass = newPass();
  await readPages(ask, base, undefined, pass);
  return pass;
}

async function resumeAt(ask: AskPage, cursor: string, pass: Pass): Promise<void> {
  const rest = newPass();
  await readPages(ask, { withUserTools: true }, cursor, rest);
  for (const [name, entry] of rest.entries) pass.entries.set(name, entry);
}

async function readPages(
  ask: AskPage,
  base: JsonObject,
  from: string | undefined,
  pass: Pass,
): Promise<void> {
  const seen = new Set<string>();
  let cursor = from;
  for (let page = 0; page < limits.toolPages.max; page += 1) {
    let result: unknown;
    try {
      result = await ask(cursor === undefined ? base : { ...base, cursor });
    } catch (error) {
      if (error instanceof TendonError && error.code === "device_disconnected") throw error;
      pass.silent = error instanceof TendonError && error.code === "device_timeout";
      pass.problem = `page ${page + 1}: ${messageOf(error)}`;
      return;
    }
    if (!isObject(result) || !Array.isArray(result["tools"])) {
      pass.problem = `page ${page + 1}: the reply has no list of tools`;
      return;
    }
    takeEntries(result["tools"], pass);
    if (pass.truncated) return;
    const next = result["nextCursor"];
    if (typeof next !== "string" || next === "") return;
    if (seen.has(next)) {
      pass.problem = `page ${page + 1}: the cursor ${JSON.stringify(next.slice(0, 64))} was repeated`;
      return;
    }
    seen.add(next);
    cursor = next;
  }
  pass.problem = `more than ${limits.toolPages.max} pages`;
  pass.truncated = true;
}

function takeEntries(entries: readonly unknown[], pass: Pass): void {
  for (const entry of entries) {
    const problem = takeEntry(entry, pass);
    if (problem === undefined) continue;
    pass.problem = problem;
    pass.truncated = true;
    return;
  }
}

/** `undefined`, or why this entry and all further ones are dropped. */
function takeEntry(entry: unknown, pass: Pass): string | undefined {
  if (pass.entries.size + pass.setAside.length >= limits.toolsPerDevice.max)
    return `more than ${limits.toolsPerDevice.max} tools`;
  pass.bytes += JSON.stringify(entry).length;
  if (pass.bytes > limits.toolListBytes.max) return `more than ${limits.toolListBytes.max} bytes`;
  const name = isObject(entry) && typeof entry["name"] === "string" ? entry["name"] : undefined;
  if (name === undefined) pass.setAside.push({ name: "(no name)", reason: "it has no name" });
  else if (pass.entries.has(name)) pass.setAside.push({ name, reason: "the device lists it twice" });
  else pass.entries.set(name, entry);
  return undefined;
}

/** For programs that send all tools in one message. */
export function listingOf(entries: readonly unknown[]): Listing {
  const pass = newPass();
  takeEntries(entries, pass);
  return conclude(pass, pass);
}

/** [MCP-6] A tool that is only in the second pass is user-only; also after an incomplete first pass, to be safe. */
function conclude(plain: Pass, all: Pass): Listing {
  const entries = new Map([...plain.entries, ...all.entries]);
  const tools: ToolDefinition[] = [];
  const setAside = new Map<string, ToolSetAside>();
  for (const aside of [...plain.setAside, ...all.setAside])
    setAside.set(`${aside.name} ${aside.reason}`, aside);
  for (const [name, entry] of entries) {
    const repaired = repairTool(entry, !plain.entries.has(name));
    if (repaired.ok) tools.push(repaired.tool);
    else setAside.set(`${name} ${repaired.setAside.reason}`, repaired.setAside);
  }
  const problem = plain.problem ?? all.problem;
  return {
    tools,
    setAside: [...setAside.values()],
    complete: problem === undefined,
    problem,
    silent: plain.silent || all.silent,
    truncated: plain.truncated || all.truncated,
  };
}
