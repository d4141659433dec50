/** Tools and state of one's own, from a tools file. Loaded only for a home that has one. */
import { extname } from "node:path";
import { ToolDefinitionError, ToolsFileError } from "../errors.ts";
import { checkedProperties } from "../tool-checks.ts";
import { addEach, readToolsDocument } from "../tools-document.ts";
import type { ToolEntry } from "../tools-format.ts";
import { HomeCallError } from "./home-errors.ts";
import { type Parameters, readArguments } from "./parameters.ts";
import { isName } from "./settings.ts";
import { type HomeState, type OwnValue, setOwn } from "./state.ts";
import type { HomeTool } from "./tool.ts";

export interface OwnTools {
  /** Names with their starting values, in the order of the file. */
  readonly state: ReadonlyMap<string, OwnValue>;
  readonly tools: readonly HomeTool[];
}

export interface BuiltIn {
  readonly tools: readonly string[];
  readonly states: readonly string[];
}

/** Rejects with a ToolsFileError that names the file, the tool and the mistake. */
export async function loadOwnTools(file: string, builtIn: BuiltIn): Promise<OwnTools> {
  if (![".yaml", ".yml", ".json"].includes(extname(file).toLowerCase()))
    throw new ToolsFileError(`${file}: a home's tools file must end in .yaml, .yml or .json`);
  const document = await readToolsDocument(file);
  const state = new Map(Object.entries(document.state));
  for (const name of state.keys()) {
    const mistake = builtIn.states.includes(name)
      ? "the home has a state with this name; choose another one"
      : isName(name)
        ? undefined
        : "the name must have 1 to 64 characters on one line";
    if (mistake !== undefined) throw new ToolsFileError(`${file}: state.${name}: ${mistake}`);
  }
  const tools: HomeTool[] = [];
  addEach(file, document.tools, (entry) => {
    checkEntry(entry, state, builtIn.tools);
    tools.push(ownTool(entry, state));
  });
  return { state, tools };
}

function checkEntry(entry: ToolEntry, state: ReadonlyMap<string, OwnValue>, taken: readonly string[]): void {
  const { name, description, properties, delayMs } = entry;
  checkedProperties({ name, description, properties, callback: ownTool });
  const mistake = taken.includes(name)
    ? "the home has a tool with this name; choose another one"
    : delayMs > 0
      ? "delayMs: only boards have a delay, a home answers at once; remove it"
      : mistakeInState(entry, state);
  if (mistake !== undefined) throw new ToolDefinitionError(`tool ${name}: ${mistake}`);
}

const typeNames = { boolean: "true or false", number: "a number", string: "a text" } as const;
const valueTypes = { boolean: "boolean", integer: "number", string: "string" } as const;

function mistakeInState(
  { returns, properties }: ToolEntry,
  state: ReadonlyMap<string, OwnValue>,
): string | undefined {
  if (returns.do !== "store" && returns.do !== "put" && returns.do !== "get") return undefined;
  const current = state.get(returns.key);
  if (current === undefined) {
    const word = returns.do === "get" ? "get" : "set";
    return `returns.${word}: ${returns.key} is not in state; add it there with its starting value`;
  }
  if (returns.do === "get") return undefined;
  const type = nameOfType(current);
  const given =
    returns.do === "put"
      ? nameOfType(returns.value)
      : typeNames[valueTypes[properties.get(returns.property)?.type ?? "string"]];
  return given === type
    ? undefined
    : `returns.set: ${returns.key} starts as ${type}, so it cannot be set to ${given}`;
}

function nameOfType(value: OwnValue): string {
  return typeNames[typeof value as keyof typeof typeNames];
}

function ownTool(entry: ToolEntry, state: ReadonlyMap<string, OwnValue>): HomeTool {
  const { name, description, userOnly, returns } = entry;
  const parameters: Parameters = Object.fromEntries(entry.properties);
  const required = [...entry.properties].filter(([, { default: value }]) => value === undefined);
  const requiredNames = required.map(([key]) => key);
  const read = (args: Readonly<Record<string, unknown>>): Readonly<Record<string, OwnValue>> => {
    const given: Readonly<Record<string, unknown>> = readArguments(parameters, requiredNames, args);
    const all = [...entry.properties].map(([key, { default: value }]) => [key, given[key] ?? value]);
    return Object.fromEntries(all) as Record<string, OwnValue>;
  };
  const tool = {
    definition: {
      name,
      description,
      input_schema: { type: "object" as const, properties: parameters, required: requiredNames },
      output_schema: { type: "object" as const, properties: resultOf(entry, state) },
      ...(userOnly ? { annotations: { audience: ["user" as const] } } : {}),
    },
    feature: undefined,
  };
  if (returns.do === "store" || returns.do === "put") {
    const change = (home: HomeState, args: Readonly<Record<string, OwnValue>>): HomeState => {
      const value = returns.do === "put" ? returns.value : args[returns.property];
      return value === undefined ? home : setOwn(home, returns.key, value);
    };
    return { ...tool, does: "change", run: (home, _, args) => change(home, read(args)) };
  }
  return { ...tool, does: "read", run: (home, _, args) => answer(entry, home, read(args)) };
}

function answer(
  { returns, name }: ToolEntry,
  { own }: HomeState,
  args: Readonly<Record<string, OwnValue>>,
): object {
  switch (returns.do) {
    case "value":
      return objectOf(plainValue(returns.value));
    case "echo":
      return returns.property === undefined ? args : { [returns.property]: args[returns.property] };
    case "get":
      return { [returns.key]: own[returns.key] };
    case "fail":
      throw new HomeCallError("tool_failed", returns.message, { name });
    case "store":
    case "put":
      return {};
  }
}

/** The protocol's results are objects: a single value is `{"value": …}`. */
function objectOf(value: unknown): object {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { value };
}

/** The objects of a tools file are Maps. */
function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, each]) => [String(key), plainValue(each)]));
}

function resultOf(
  { returns, properties }: ToolEntry,
  state: ReadonlyMap<string, OwnValue>,
): Readonly<Record<string, object>> {
  switch (returns.do) {
    case "store":
    case "put":
      return { ok: { type: "boolean" } };
    case "get":
      return { [returns.key]: { type: typeof state.get(returns.key) } };
    case "echo":
      return Object.fromEntries(
        [...properties]
          .filter(([key]) => returns.property === undefined || key === returns.property)
          .map(([key, { type }]) => [key, { type }]),
      );
    case "value":
    case "fail":
      return {};
  }
}
