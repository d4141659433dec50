/**
 * The only reader of the environment and of tendon.yaml. One schema covers the file, TENDON_… variables, flags and
 * `startTendon`; later sources override earlier ones. The result is complete and frozen.
 */
import fs from "node:fs";
import path from "node:path";
import { checkActions, defaultActions, type SettingView } from "@tendon/protocol";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Settings } from "typebox/system";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { checkAccess, checkWebhookHosts } from "../access-settings.ts";
import { checkOutgoingEndpoints } from "../endpoint-settings.ts";
import { messageOf, StartError } from "../errors.ts";
import { effectiveSettings, valueAt } from "./effective-settings.ts";
import { checkHttpDevices } from "./http-device.ts";
import { explainProblem, explainVariable, type Problem, placeOf } from "./problems.ts";
import { environmentName, fileOnly, type Leaf, leavesOf } from "./reference.ts";
import { type Config, ConfigSchema } from "./schema.ts";
import { asUpstreamList } from "./voice.ts";

export { type HttpDeviceEntry, headersOf } from "./http-device.ts";
export { withoutSecrets } from "./masking.ts";
export { settingsReference } from "./reference.ts";

type Partially<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Partially<T[K]> }
    : T;
/** A partial configuration, from a file, flags or a program. */
export type ConfigInput = Partially<Config>;

export interface ConfigSources {
  /** An explicit file, which must exist. Without it, tendon.yaml is searched in `searchIn`, then in the data folder. */
  readonly file?: string | undefined;
  /** Without it, no file is searched. */
  readonly searchIn?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Defaults of the calling command; every other source overrides them. */
  readonly defaults?: ConfigInput;
  /** Flags or a program's own settings; they override every other source. */
  readonly overrides?: ConfigInput;
}

/** Variables that point commands at a gateway; they are not settings. */
const notSettings = new Set(["TENDON_URL", "TENDON_TOKEN", "TENDON_CONFIG"]);
const FILE_NAME = "tendon.yaml";
const compiled = Compile(ConfigSchema);

export type { Config } from "./schema.ts";

export interface LoadedConfig {
  readonly config: Config;
  readonly file: string | undefined;
  /** TENDON_TOKEN: the admin token of this run, never stored or shown. */
  readonly adminToken: string | undefined;
  /** Every setting with its source, secrets hidden. */
  readonly settings: readonly SettingView[];
}

const minTokenLength = 16;
const maxProblems = 200;

export function loadConfig(sources: ConfigSources): LoadedConfig {
  const problems: Problem[] = [];
  const fromEnv = readEnvironment(sources.env ?? {}, problems);
  const overrides = (sources.overrides ?? {}) as Tree;
  const { searchIn } = sources;
  const found = searchIn === undefined ? undefined : findFile([...searchIn, dataFolder(overrides, fromEnv)]);
  const file = sources.file ?? found;
  const read = file === undefined ? { tree: {}, lineOf: () => undefined } : readFile(file, problems);
  const defaults = merge(defaultsOf(ConfigSchema) as Tree, (sources.defaults ?? {}) as Tree);
  const merged = merge(merge(merge(defaults, read.tree), fromEnv.tree), overrides);
  const voice = merged["voice"];
  if (isTree(voice)) merged["voice"] = { ...voice, upstream: asUpstreamList(voice["upstream"]) };
  const places = { file, lineOf: read.lineOf, envOf: fromEnv.nameOf };
  for (const error of allErrors(merged)) problems.push(...explainProblem(error, ConfigSchema, places));
  if (problems.length === 0) {
    const { control, access, agents, http, webhooks, devices } = merged as Config;
    const found = [
      ...checkHttpDevices(devices.http, devices.stdio).map(({ place, message }) => ({
        place: [...place],
        message,
      })),
      ...checkActions(control.actions, defaultActions).map(({ path: at, message }) => ({
        place: ["control", "actions", ...at],
        message,
      })),
      ...http.allowedOrigins.flatMap((origin, index) =>
        URL.canParse(origin)
          ? []
          : [{ place: ["http", "allowedOrigins", String(index)], message: "must name a host" }],
      ),
      ...checkAccess(access).map(({ path: at, message }) => ({ place: ["access", ...at], message })),
      ...checkOutgoingEndpoints(agents.endpoints).map(({ path: at, message }) => ({
        place: ["agents", ...at],
        message,
      })),
      ...checkWebhookHosts(webhooks.allowHosts).map(({ path: at, message }) => ({
        place: ["webhooks", ...at],
        message,
      })),
    ];
    for (const { place, message } of found) {
      problems.push({ where: placeOf(place, places), message: `\`${place.join(".")}\` ${message}` });
    }
  }
  const adminToken = sources.env?.["TENDON_TOKEN"];
  if (adminToken !== undefined && adminToken.length < minTokenLength) {
    problems.push({ where: "TENDON_TOKEN", message: `must have ${minTokenLength} characters or more` });
  }
  if (problems.length > 0) throw new StartError("The configuration is not valid:", unique(problems));
  const settings = effectiveSettings(merged, {
    command: (at) => valueAt(overrides, at) !== undefined,
    variable: fromEnv.nameOf,
    fileLine(at) {
      if (file === undefined || valueAt(read.tree, at) === undefined) return undefined;
      return `${path.basename(file)}:${read.lineOf(at) ?? 1}`;
    },
  });
  return { config: deepFreeze(merged) as Config, file, adminToken, settings };
}

/** TypeBox stops at eight errors. The author of a configuration file needs all of them. */
function allErrors(merged: Tree) {
  const { maxErrors } = Settings.Get();
  Settings.Set({ maxErrors: maxProblems });
  try {
    return [...compiled.Errors(merged)];
  } finally {
    Settings.Set({ maxErrors });
  }
}

function unique(problems: readonly Problem[]): string[] {
  return [...new Set(problems.map(({ where, message }) => `${where}: ${message}`))];
}

type Tree = { [key: string]: unknown };

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The settings have fewer levels. In YAML, an anchor may also contain itself, which has no end. */
const maxLevels = 32;

/** Why a file's content cannot be merged and checked, whatever its keys. */
function shapeProblem(value: unknown, levels = maxLevels): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (levels === 0) return `settings must not be nested deeper than ${maxLevels} levels`;
  // Such a key would be lost when sections are merged, and its values would never be checked.
  if (Object.hasOwn(value, "__proto__")) return "a key must not be named `__proto__`";
  for (const child of Object.values(value)) {
    const problem = shapeProblem(child, levels - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findFile(folders: readonly string[]): string | undefined {
  return folders.map((folder) => path.join(folder, FILE_NAME)).find((file) => fs.existsSync(file));
}

function dataFolder(overrides: Tree, env: { readonly tree: Tree }): string {
  const named = overrides["data"] ?? env.tree["data"];
  return typeof named === "string" ? named : "./data";
}

function readFile(
  file: string,
  problems: Problem[],
): { tree: Tree; lineOf: (path: string[]) => number | undefined } {
  const nothing = { tree: {}, lineOf: () => undefined };
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    problems.push({ where: file, message: `cannot be read (${messageOf(error)})` });
    return nothing;
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, logLevel: "error" });
  for (const error of document.errors) {
    problems.push({
      where: `${file}:${lines.linePos(error.pos[0]).line}`,
      message: (error.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:$/, ""),
    });
  }
  if (document.errors.length > 0) return nothing;
  let tree: unknown;
  try {
    tree = document.toJS() ?? {};
  } catch (error) {
    // A YAML alias without an anchor, or too many aliases.
    problems.push({ where: file, message: messageOf(error) });
    return nothing;
  }
  const shape = shapeProblem(tree);
  if (shape !== undefined) {
    problems.push({ where: file, message: shape });
    return nothing;
  }
  if (!isTree(tree)) {
    problems.push({ where: `${file}:1`, message: "must be a list of settings (key: value)" });
    return nothing;
  }
  return {
    tree,
    lineOf(at): number | undefined {
      const above = at.slice(0, -1);
      // A short form expands to more than the file has: `upstream: ws://…` becomes a list with one entry.
      if (above.length > 1 && !document.hasIn(above) && document.hasIn(above.slice(0, 1)))
        return this.lineOf(above);
      const parent: unknown = at.length > 1 ? document.getIn(at.slice(0, -1), true) : document.contents;
      const pairs = isMap(parent) ? parent.items : [];
      const last = at.at(-1) ?? "";
      const key = pairs.map((pair) => pair.key).find((name) => isScalar(name) && String(name.value) === last);
      const item: unknown = isSeq(parent) ? parent.get(Number(last), true) : undefined;
      const node = key ?? item ?? parent;
      const start = isNode(node) ? node.range?.[0] : undefined;
      return start === undefined ? undefined : lines.linePos(start).line;
    },
  };
}

function readEnvironment(env: NonNullable<ConfigSources["env"]>, problems: Problem[]) {
  const tree: Tree = {};
  const names = new Map<string, string>();
  const leaves = leavesOf(ConfigSchema);
  const isFileOnly = (leaf: Leaf) => fileOnly.has(leaf.path.join("."));
  const fileOnlyNames = leaves.filter(isFileOnly).map((leaf) => environmentName(leaf.path));
  const known = new Map(
    leaves.filter((leaf) => !isFileOnly(leaf)).map((leaf) => [environmentName(leaf.path), leaf]),
  );
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("TENDON_") || text === undefined || notSettings.has(name)) continue;
    const leaf = known.get(name);
    if (leaf === undefined) {
      problems.push({ where: name, message: explainVariable(name, [...known.keys()], fileOnlyNames) });
      continue;
    }
    names.set(leaf.path.join("."), name);
    setIn(tree, leaf.path, readValue(text, leaf.schema));
  }
  return { tree, nameOf: (at: string[]) => names.get(at.join(".")) };
}

/** Text that does not match its type stays text, so that the schema reports the error. */
function readValue(text: string, schema: TSchema): unknown {
  const { anyOf } = schema as { anyOf?: readonly TSchema[] };
  if (anyOf !== undefined)
    return anyOf.map((one) => readValue(text, one)).find((value) => typeof value !== "string") ?? text;
  const type = (schema as { type?: string }).type;
  if (type === "integer" || type === "number")
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type === "object" || type === "array") {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
  return text;
}

function defaultsOf(schema: TSchema): unknown {
  const object = schema as { properties?: Record<string, TSchema>; default?: unknown; required?: string[] };
  const { properties, required = [] } = object;
  if (properties === undefined) return object.default;
  // Defaults do not create an optional section.
  const entries = Object.entries(properties)
    .filter(([key]) => required.includes(key))
    .map(([key, child]) => [key, defaultsOf(child)] as const);
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

function setIn(tree: Tree, at: readonly string[], value: unknown): void {
  const [key, ...rest] = at;
  if (key === undefined) return;
  if (rest.length === 0) {
    tree[key] = value;
    return;
  }
  const child = isTree(tree[key]) ? tree[key] : {};
  tree[key] = child;
  setIn(child, rest, value);
}

function merge(base: Tree, over: Tree): Tree {
  const merged: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    // An empty section in YAML (`http:` with nothing under it) is null and means all defaults.
    if (value === null && isTree(base[key])) continue;
    merged[key] = isTree(value) && isTree(base[key]) ? merge(base[key], value) : value;
  }
  return merged;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child);
    Object.freeze(value);
  }
  return value;
}

/** The environment variables that a program inherits if the gateway runs it as a device [PRC-1]. */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    ["PATH", "HOME", "LANG"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
