/**
 * Addresses among a call's arguments [ACC-5…7]. It is the device that goes there, from inside the network it stands
 * in, so it goes only where the settings say: every text argument that is an address by its name or its schema has to
 * lead to a host of `access.urlHosts`. Devices read addresses less carefully than browsers do; one that the two could
 * understand differently is refused, whatever its host.
 */
import {
  type ArgumentProblem,
  isAddressName,
  isObject,
  type JsonObject,
  limits,
  pointerPart,
  type ToolDefinition,
} from "@tendon/protocol";
import ipaddr from "ipaddr.js";
import { type AllowedHost, readAllowedHost } from "../access-settings.ts";

export interface UrlProblem extends ArgumentProblem {
  /** It is no address at all, rather than one that leads somewhere else. */
  readonly malformed: boolean;
}

const urlFormats = new Set(["uri", "url", "iri", "uri-reference", "iri-reference"]);
const localNames = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;
/** Controls, blanks and the backslash, which browsers drop or turn round. */
const oddCharacters = /[\p{Cc}\s\\]/u;
const namesRemembered = 1_000;

export class UrlHosts {
  readonly #hosts: readonly AllowedHost[];
  /** Whether an argument's name says that it is an address. */
  readonly #named = new Map<string, boolean>();
  /** By tool: whether it has an address of its own for what a call leaves out. */
  readonly #defaulting = new WeakMap<ToolDefinition, boolean>();
  /** By tool: arguments that its schema calls addresses. */
  readonly #formatted = new WeakMap<ToolDefinition, ReadonlySet<string>>();

  constructor(hosts: readonly string[]) {
    this.#hosts = hosts.flatMap((written) => readAllowedHost(written) ?? []);
  }

  /** What is wrong with the addresses among the arguments; `undefined` for nothing. */
  problems(args: JsonObject, tool: ToolDefinition | undefined): readonly UrlProblem[] | undefined {
    const given = this.#givenProblems(args, tool);
    if (tool === undefined || !this.#hasDefaults(tool)) return given;
    const found = [...(given ?? []), ...this.#defaultProblems(args, tool)];
    return found.length === 0 ? undefined : found;
  }

  #givenProblems(args: JsonObject, tool: ToolDefinition | undefined): readonly UrlProblem[] | undefined {
    // Nearly every call has numbers and short texts: nothing is made for those.
    for (const name in args) {
      const value = args[name];
      if (
        typeof value === "string" ? this.#isAddress(name, tool) : typeof value === "object" && value !== null
      ) {
        const found: UrlProblem[] = [];
        this.#look(args, "", undefined, 0, tool, found);
        return found.length === 0 ? undefined : found;
      }
    }
    return undefined;
  }

  #look(
    value: unknown,
    path: string,
    name: string | undefined,
    depth: number,
    tool: ToolDefinition | undefined,
    found: UrlProblem[],
  ): void {
    // Nesting beyond what a device can take is refused with the other arguments.
    if (depth > limits.callArgumentDepth.max) return;
    if (typeof value === "string") {
      const problem = name !== undefined && this.#isAddress(name, tool) ? this.#problemOf(value) : undefined;
      if (problem !== undefined) found.push({ path, ...problem });
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries())
        this.#look(item, `${path}/${index}`, name, depth + 1, tool, found);
    } else if (isObject(value)) {
      for (const [key, item] of Object.entries(value))
        this.#look(item, `${path}/${pointerPart(key)}`, key, depth + 1, tool, found);
    }
  }

  #hasDefaults(tool: ToolDefinition): boolean {
    const known = this.#defaulting.get(tool);
    if (known !== undefined) return known;
    const has = defaultsFor(undefined, tool.inputSchema).some(
      ({ name, value }) => typeof value === "object" || this.#isAddress(name, tool),
    );
    this.#defaulting.set(tool, has);
    return has;
  }

  /** The device goes where its default leads as it goes where it is told. */
  #defaultProblems(args: JsonObject, tool: ToolDefinition): UrlProblem[] {
    const found: UrlProblem[] = [];
    for (const { name, path, value } of defaultsFor(args, tool.inputSchema)) {
      // The usual way to say that there is none, and it leads nowhere.
      if (value !== "") this.#look(value, path, name, 0, tool, found);
    }
    return found.map(({ path, message, malformed }) => ({
      path,
      malformed,
      message: `is required: its default ${malformed ? "is no address" : message}`,
    }));
  }

  #isAddress(name: string, tool: ToolDefinition | undefined): boolean {
    return this.#isNamed(name) || (tool !== undefined && this.#formattedIn(tool).has(name.toLowerCase()));
  }

  #isNamed(name: string): boolean {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const is = isAddressName(name);
    if (this.#named.size >= namesRemembered) this.#named.clear();
    this.#named.set(name, is);
    return is;
  }

  #formattedIn(tool: ToolDefinition): ReadonlySet<string> {
    const known = this.#formatted.get(tool);
    if (known !== undefined) return known;
    const names = new Set<string>();
    collectFormatted(tool.inputSchema, undefined, names);
    this.#formatted.set(tool, names);
    return names;
  }

  #problemOf(text: string): Omit<UrlProblem, "path"> | undefined {
    const url = parse(text);
    if (url === undefined)
      return { malformed: true, message: "must be a whole address, such as https://host/path" };
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      return { malformed: false, message: "must be an http or https address" };
    }
    if (!isPlainlyWritten(text, url)) {
      return {
        malformed: false,
        message: "must be written plainly: no user, blanks, backslashes or odd hosts",
      };
    }
    if (this.#hosts.some((allowed) => leadsTo(url, allowed))) return undefined;
    return { malformed: false, message: `leads to ${url.host}, which access.urlHosts does not name` };
  }
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Exactly as a browser would write its beginning, and a path after it: nothing is left to anybody's parser. */
function isPlainlyWritten(text: string, url: URL): boolean {
  if (url.username !== "" || url.password !== "" || oddCharacters.test(text)) return false;
  const head = `${url.protocol}//${url.host}`;
  if (text.slice(0, head.length).toLowerCase() !== head) return false;
  const standardPort = url.protocol === "https:" ? ":443" : ":80";
  const rest = text.slice(head.length);
  const after = url.port === "" && rest.startsWith(standardPort) ? rest.slice(standardPort.length) : rest;
  return after === "" || after.startsWith("/");
}

function leadsTo(url: URL, { protocol, host, port }: AllowedHost): boolean {
  if (protocol !== undefined && protocol !== url.protocol) return false;
  if (port !== undefined && port !== (url.port || (url.protocol === "https:" ? "443" : "80"))) return false;
  // Named as it is, by somebody who knows what stands there.
  if (host === url.hostname) return true;
  if (host === "*") return isPublic(url.hostname);
  return host.startsWith("*.") && url.hostname.endsWith(host.slice(1)) && ipOf(url.hostname) === undefined;
}

/** Not this machine, not this network, nothing that only looks like somewhere else. */
function isPublic(hostname: string): boolean {
  const ip = ipOf(hostname);
  if (ip !== undefined) return ip.range() === "unicast";
  return hostname.includes(".") && !localNames.test(hostname.replace(/\.$/, ""));
}

function ipOf(hostname: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

interface Default {
  readonly name: string;
  readonly path: string;
  readonly value: unknown;
}

/**
 * The defaults that a device may fill in for these arguments, or for any where none are given. Boards look for a name
 * in any case and take the default also where the first value they find is null or of another type.
 */
function defaultsFor(args: unknown, schema: unknown, path = "", depth = 0): Default[] {
  if (!isObject(schema) || depth > limits.callArgumentDepth.max) return [];
  const parts = [schema["allOf"], schema["anyOf"], schema["oneOf"]].filter((part) => Array.isArray(part));
  if (parts.length > 0) {
    const { allOf: _all, anyOf: _any, oneOf: _one, ...own } = schema;
    return [own, ...parts.flat()].flatMap((part) => defaultsFor(args, part, path, depth + 1));
  }
  if (Array.isArray(args))
    return args.flatMap((item, index) => defaultsFor(item, schema["items"], `${path}/${index}`, depth + 1));
  const { properties } = schema;
  if (!isObject(properties) || (args !== undefined && !isObject(args))) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return [];
    const at = `${path}/${pointerPart(name)}`;
    const given = Object.entries(args ?? {}).filter(([key]) => key.toLowerCase() === name.toLowerCase());
    const value = property["default"];
    const left = value !== undefined && (given.length === 0 || given.some(([, one]) => !alike(one, value)));
    const below =
      args === undefined
        ? [
            ...defaultsFor(undefined, property, at, depth + 1),
            ...defaultsFor(undefined, property["items"], at, depth + 1),
          ]
        : given.flatMap(([, one]) => defaultsFor(one ?? {}, property, at, depth + 1));
    return left ? [{ name, path: at, value }, ...below] : below;
  });
}

function alike(one: unknown, other: unknown): boolean {
  return one !== null && typeof one === typeof other && Array.isArray(one) === Array.isArray(other);
}

function collectFormatted(schema: unknown, name: string | undefined, names: Set<string>): void {
  if (Array.isArray(schema)) {
    for (const item of schema) collectFormatted(item, name, names);
    return;
  }
  if (!isObject(schema)) return;
  const { format, properties } = schema;
  if (name !== undefined && typeof format === "string" && urlFormats.has(format))
    names.add(name.toLowerCase());
  for (const [key, child] of Object.entries(schema)) {
    if (key !== "properties") collectFormatted(child, name, names);
  }
  if (!isObject(properties)) return;
  for (const [key, child] of Object.entries(properties)) collectFormatted(child, key, names);
}
