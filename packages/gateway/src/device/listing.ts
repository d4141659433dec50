/**
 * Reads a device's whole tool list [MCP-3…8]: every page, with user-only tools, and once more without them if the device
 * does not mark them. After a fault it keeps the tools listed so far and reports the fault. Boards with the same firmware
 * share one listing.
 */
import {
  isForUsers,
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

interface Page {
  readonly result: object;
  readonly tools: readonly unknown[];
}

interface Pass {
  readonly pages: Page[];
  count: number;
  bytes: number;
  problem: string | undefined;
  silent: boolean;
  truncated: boolean;
}

/** The tools of one pass by name. */
interface Entries {
  readonly byName: ReadonlyMap<string, unknown>;
  readonly setAside: readonly ToolSetAside[];
}

function newPass(): Pass {
  return { pages: [], count: 0, bytes: 0, problem: undefined, silent: false, truncated: false };
}

/** The firmware's first user-only tool. Listing can resume there if an oversize tool blocks the pages before it. */
const firstUserOnlyTool = "self.get_system_info";
const withUserTools: JsonObject = { withUserTools: true };

export async function listTools(ask: AskPage): Promise<Listing> {
  const all = await readPass(ask, withUserTools);
  if (all.problem === undefined) {
    const marked = markedListings.of(all.pages, () => concludeMarked(all));
    if (marked !== undefined) return marked;
  } else if (all.silent && all.count === 0) return conclude(all, all);
  else if (!all.silent && !entriesOf(all).byName.has(firstUserOnlyTool)) {
    await resumeAt(ask, firstUserOnlyTool, all);
  }
  const plain = await readPass(ask, {});
  if (plain.problem !== undefined || all.problem !== undefined) return conclude(plain, all);
  return listings.of([...all.pages, ...plain.pages], () => conclude(plain, all));
}

/** For servers without user-only tools: one pass. */
export async function listPlainTools(ask: AskPage): Promise<Listing> {
  const plain = await readPass(ask, {});
  return conclude(plain, plain);
}

/** For programs that send all tools in one message. */
export function listingOf(entries: readonly unknown[]): Listing {
  const pass = newPass();
  takePage({ tools: entries }, entries, pass);
  return conclude(pass, pass);
}

async function readPass(ask: AskPage, base: JsonObject): Promise<Pass> {
  const pass = newPass();
  await readPages(ask, base, undefined, pass);
  return pass;
}

async function resumeAt(ask: AskPage, cursor: string, pass: Pass): Promise<void> {
  const rest = newPass();
  await readPages(ask, withUserTools, cursor, rest);
  const { byName } = entriesOf(pass);
  for (const { result, tools } of rest.pages)
    pass.pages.push({ result, tools: tools.filter((entry) => !byName.has(nameOf(entry) ?? "")) });
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
    takePage(result, result["tools"], pass);
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

/** Takes the entries that fit within the limits. */
function takePage(result: object, tools: readonly unknown[], pass: Pass): void {
  const sizes = sizesOf(result, tools);
  for (const [at, size] of sizes.entries()) {
    pass.count += 1;
    pass.bytes += size;
    if (pass.count > limits.toolsPerDevice.max) pass.problem = `more than ${limits.toolsPerDevice.max} tools`;
    else if (pass.bytes > limits.toolListBytes.max)
      pass.problem = `more than ${limits.toolListBytes.max} bytes`;
    else continue;
    pass.truncated = true;
    pass.pages.push({ result, tools: tools.slice(0, at) });
    return;
  }
  pass.pages.push({ result, tools });
}

const sizes = new WeakMap<object, readonly number[]>();

function sizesOf(result: object, tools: readonly unknown[]): readonly number[] {
  const known = sizes.get(result);
  if (known !== undefined) return known;
  const computed = tools.map((entry) => JSON.stringify(entry).length);
  sizes.set(result, computed);
  return computed;
}

/** The pages of boards with the same firmware are the same objects, so what follows from them is computed once. */
class SharedByPages<Result> {
  /** By the last page. */
  readonly #known = new WeakMap<object, { readonly pages: readonly Page[]; readonly result: Result }>();

  of(pages: readonly Page[], compute: () => Result): Result {
    const last = pages.at(-1)?.result;
    if (last === undefined) return compute();
    const known = this.#known.get(last);
    if (known !== undefined && samePages(known.pages, pages)) return known.result;
    const result = compute();
    this.#known.set(last, { pages, result });
    return result;
  }
}

const markedListings = new SharedByPages<Listing | undefined>();
const listings = new SharedByPages<Listing>();

function samePages(one: readonly Page[], other: readonly Page[]): boolean {
  return one.length === other.length && one.every(({ result }, at) => result === other[at]?.result);
}

function nameOf(entry: unknown): string | undefined {
  return isObject(entry) && typeof entry["name"] === "string" ? entry["name"] : undefined;
}

function entriesOf({ pages }: Pass): Entries {
  const byName = new Map<string, unknown>();
  const setAside: ToolSetAside[] = [];
  for (const entry of pages.flatMap(({ tools }) => tools)) {
    const name = nameOf(entry);
    if (name === undefined) setAside.push({ name: "(no name)", reason: "it has no name" });
    else if (byName.has(name)) setAside.push({ name, reason: "the device lists it twice" });
    else byName.set(name, entry);
  }
  return { byName, setAside };
}

/**
 * [MCP-6] Firmware that marks its own first user-only tool marks them all. `undefined` for other devices: then only a list
 * without user-only tools tells which they are.
 */
function concludeMarked(all: Pass): Listing | undefined {
  return isForUsers(entriesOf(all).byName.get(firstUserOnlyTool)) ? conclude(all, all) : undefined;
}

/** [MCP-6] A tool that is not in the plain pass is user-only; also after an incomplete one, to be safe. */
function conclude(plainPass: Pass, allPass: Pass): Listing {
  const plain = entriesOf(plainPass);
  const all = allPass === plainPass ? plain : entriesOf(allPass);
  const tools: ToolDefinition[] = [];
  const setAside = new Map<string, ToolSetAside>();
  for (const aside of [...plain.setAside, ...all.setAside])
    setAside.set(`${aside.name} ${aside.reason}`, aside);
  for (const [name, entry] of new Map([...plain.byName, ...all.byName])) {
    const repaired = repairTool(entry, !plain.byName.has(name));
    if (repaired.ok) tools.push(repaired.tool);
    else setAside.set(`${name} ${repaired.setAside.reason}`, repaired.setAside);
  }
  const problem = plainPass.problem ?? allPass.problem;
  return {
    tools,
    setAside: [...setAside.values()],
    complete: problem === undefined,
    problem,
    silent: plainPass.silent || allPass.silent,
    truncated: plainPass.truncated || allPass.truncated,
  };
}
