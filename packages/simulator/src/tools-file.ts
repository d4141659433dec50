import { readFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ToolDefinitionError, ToolFailure, ToolsFileError } from "./errors.ts";
import { type JsonValue, printNumber, type ToolReturn, type VirtualDevice } from "./esp32/esp32.ts";
import { readDocument, type ToolEntry } from "./tools-format.ts";

/** Tools from a file, for any number of devices. */
export interface ToolsFile {
  readonly path: string;
  /** Adds the tools; call it before the device connects. */
  register(device: VirtualDevice): Promise<void>;
}

/**
 * Reads `.yaml`, `.yml` and `.json` files (format: ToolsDocument) and `.js`/`.mjs` modules, whose exported
 * `register(device)` or default function adds tools with addTool().
 */
export async function loadToolsFile(path: string): Promise<ToolsFile> {
  const kind = extname(path).toLowerCase();
  if (kind === ".js" || kind === ".mjs") return await loadModule(path);
  if (kind === ".yaml" || kind === ".yml" || kind === ".json") return await loadDocument(path, kind);
  throw new ToolsFileError(`${path}: a tools file must end in .yaml, .yml, .json, .js or .mjs`);
}

async function loadDocument(path: string, kind: string): Promise<ToolsFile> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => refuse(path, cause));
  const document = readDocument(path, await parse(path, kind, text));
  return {
    path,
    register: async (device) => {
      for (const [key, value] of Object.entries(document.state)) device.state.set(key, value);
      for (const [index, entry] of document.tools.entries()) {
        try {
          addEntry(device, entry);
        } catch (error) {
          if (!(error instanceof ToolDefinitionError)) throw error;
          throw new ToolsFileError(`${path}: tools[${index}]: ${error.message}`, { cause: error });
        }
      }
      await Promise.resolve();
    },
  };
}

async function parse(path: string, kind: string, text: string): Promise<unknown> {
  try {
    const json = kind === ".json";
    // Parsed for its error messages only: objects lose the order of numeric names, which a Map keeps.
    if (json) JSON.parse(text);
    const yaml = await import("yaml");
    const ordered = { mapAsMap: true, stringKeys: true } as const;
    return yaml.parse(text, json ? { ...ordered, schema: "json", uniqueKeys: false } : ordered);
  } catch (cause) {
    return refuse(path, cause);
  }
}

function refuse(path: string, cause: unknown): never {
  throw new ToolsFileError(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

function addEntry(device: VirtualDevice, entry: ToolEntry): void {
  const run = (
    args: Readonly<Record<string, boolean | number | string>>,
  ): ToolReturn | Promise<ToolReturn> =>
    entry.delayMs > 0
      ? device.sleep(entry.delayMs).then(() => perform(device, entry, args))
      : perform(device, entry, args);
  const { name, description, properties } = entry;
  if (entry.userOnly) device.addUserOnlyTool(name, description, properties, run);
  else device.addTool(name, description, properties, run);
}

function perform(
  device: VirtualDevice,
  { returns, properties }: ToolEntry,
  args: Readonly<Record<string, boolean | number | string>>,
): ToolReturn {
  switch (returns.do) {
    case "value":
      return asReturn(returns.value);
    case "echo":
      if (returns.property !== undefined) return args[returns.property];
      return new Map([...properties.keys()].map((key) => [key, args[key] ?? null]));
    case "store": {
      const value = args[returns.property];
      if (value !== undefined) device.state.set(returns.key, value);
      return true;
    }
    case "put":
      device.state.set(returns.key, returns.value);
      return true;
    case "get":
      return device.state.get(returns.key) ?? "";
    case "fail":
      throw new ToolFailure(returns.message);
  }
}

/** The firmware returns whole numbers only; other numbers become text. */
function asReturn(value: JsonValue): ToolReturn {
  if (value === null) return "null";
  return typeof value === "number" && !Number.isInteger(value) ? printNumber(value) : value;
}

async function loadModule(path: string): Promise<ToolsFile> {
  const url = pathToFileURL(resolve(path)).href;
  const loaded: unknown = await import(/* @vite-ignore */ url).catch((cause: unknown) => refuse(path, cause));
  const register = exported(loaded, "register") ?? exported(loaded, "default");
  if (register === undefined) {
    throw new ToolsFileError(
      `${path}: must export a function register(device), by that name or as the default`,
    );
  }
  return {
    path,
    register: async (device) => {
      await register(device);
    },
  };
}

function exported(module: unknown, name: string): ((device: VirtualDevice) => unknown) | undefined {
  if (typeof module !== "object" || module === null) return undefined;
  const value: unknown = Reflect.get(module, name);
  return typeof value === "function"
    ? (device) => Reflect.apply(value, undefined, [device]) as unknown
    : undefined;
}
