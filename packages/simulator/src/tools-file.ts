import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ToolDefinitionError, ToolFailure, ToolsFileError } from "./errors.ts";
import {
  defineTool,
  type JsonValue,
  maxDefinitionBytes,
  printNumber,
  printTool,
  type StateValue,
  type ToolReturn,
  VirtualDevice,
  type VirtualDeviceOptions,
} from "./esp32/esp32.ts";
import { addEach, readToolsDocument, refuse } from "./tools-document.ts";
import type { ToolEntry } from "./tools-format.ts";

/** Tools from a file, for any number of devices. */
export interface ToolsFile {
  readonly path: string;
  /** Adds the tools; call it before the device connects. Rejects with a ToolsFileError. */
  register(device: VirtualDevice): Promise<void>;
}

/** Adds the tools to a device that never connects, so that mistakes are found before anything else happens. */
export async function checkToolsFile(file: ToolsFile, options: VirtualDeviceOptions): Promise<void> {
  const device = new VirtualDevice(options);
  try {
    await file.register(device);
  } finally {
    await device.stop();
  }
}

/**
 * Reads `.yaml`, `.yml` and `.json` files (format: ToolsDocument) and `.js`/`.mjs` modules, whose exported
 * `register(device)` or default function adds tools with addTool().
 */
export async function loadToolsFile(path: string): Promise<ToolsFile> {
  const kind = extname(path).toLowerCase();
  if (kind === ".js" || kind === ".mjs") return await loadModule(path);
  if (kind === ".yaml" || kind === ".yml" || kind === ".json") return await loadDocument(path);
  throw new ToolsFileError(`${path}: a tools file must end in .yaml, .yml, .json, .js or .mjs`);
}

async function loadDocument(path: string): Promise<ToolsFile> {
  const { state, tools } = await readToolsDocument(path);
  return {
    path,
    register: async (device) => {
      for (const [key, value] of Object.entries(state)) start(path, device, key, value);
      addEach(path, tools, (tool) => addEntry(device, tool));
      await Promise.resolve();
    },
  };
}

function start(path: string, device: VirtualDevice, key: string, value: StateValue): void {
  const current = device.state.get(key);
  if (current !== undefined && typeof current !== typeof value) {
    const expected = { number: "a number", string: "a text", boolean: "true or false" };
    const type = expected[typeof current as keyof typeof expected];
    throw new ToolsFileError(
      `${path}: state.${key}: must be ${type}, because the board has this state already`,
    );
  }
  device.state.set(key, value);
}

function addEntry(device: VirtualDevice, entry: ToolEntry): void {
  const run = (
    args: Readonly<Record<string, boolean | number | string>>,
  ): ToolReturn | Promise<ToolReturn> =>
    entry.delayMs > 0
      ? device.sleep(entry.delayMs).then(() => perform(device, entry, args))
      : perform(device, entry, args);
  const { name, description, properties, userOnly } = entry;
  const { length } = printTool(defineTool(name, description, properties, run, userOnly));
  if (length > maxDefinitionBytes) {
    throw new ToolDefinitionError(
      `tool ${name}: the definition has ${length} bytes, and a page of tools/list has room for ${maxDefinitionBytes}; shorten the description`,
    );
  }
  if (userOnly) device.addUserOnlyTool(name, description, properties, run);
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
      try {
        await register(device);
      } catch (error) {
        if (error instanceof ToolDefinitionError) refuse(path, error);
        const text = error instanceof Error ? error.message : String(error);
        throw new ToolsFileError(`${path}: register(device) failed: ${text}`, { cause: error });
      }
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
