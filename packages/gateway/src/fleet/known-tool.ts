/**
 * Devices of a fleet list the same few tools. Equal definitions share one immutable object with its argument validator,
 * and devices with the same list share that. This saves memory, and the JavaScript engine optimizes one schema instead
 * of thousands.
 */
import {
  type ArgumentProblem,
  bareToolName,
  callerSchema,
  exposedName,
  fitsAsExposedName,
  inlineReferences,
  isObject,
  type JsonObject,
  limits,
  misspeltArguments,
  SchemaValidator,
  type ToolDefinition,
} from "@tendon/protocol";
import { plainSchema, type QuickCheck } from "./plain-schema.ts";

const none: readonly ArgumentProblem[] = [];

class KnownTool {
  readonly definition: ToolDefinition;
  readonly #quickCheck: QuickCheck | undefined;
  #validator: SchemaValidator | undefined;

  constructor(definition: ToolDefinition) {
    this.definition = definition;
    this.#quickCheck = plainSchema(callerSchema(definition));
  }

  problems(args: JsonObject): readonly ArgumentProblem[] {
    if (this.#quickCheck?.(args) === true) return none;
    this.#validator ??= new SchemaValidator(callerSchema(this.definition));
    return this.#validator.problems(args);
  }

  /** A hint at argument names that are nearly those of the tool. */
  misspeltHint(args: JsonObject): string {
    const { properties } = inlineReferences(callerSchema(this.definition));
    return isObject(properties) ? misspeltArguments(Object.keys(args), Object.keys(properties)) : "";
  }
}

const cache = new Map<string, WeakRef<KnownTool>>();
let bytes = 0;
const cleanUp = new FinalizationRegistry<string>((text) => {
  bytes -= text.length;
  if (cache.get(text)?.deref() === undefined) cache.delete(text);
});

/**
 * Returns the same object for equal definitions, until it is garbage-collected; `undefined` if all definitions together
 * have become too large.
 */
function knownTool(definition: ToolDefinition): KnownTool | undefined {
  const text = JSON.stringify(definition);
  const existing = cache.get(text)?.deref();
  if (existing !== undefined) return existing;
  if (bytes + text.length > limits.toolDefinitionBytes.max) return undefined;
  bytes += text.length;
  const created = new KnownTool(definition);
  cache.set(text, new WeakRef(created));
  cleanUp.register(created, text);
  return created;
}

/** The tools of one list, in its order. */
export class KnownTools {
  readonly definitions: readonly ToolDefinition[];
  readonly #byName: ReadonlyMap<string, KnownTool>;
  #bareNames: ReadonlyMap<string, string> | undefined;
  #longestName: string | undefined;

  constructor(byName: ReadonlyMap<string, KnownTool>) {
    this.#byName = byName;
    this.definitions = [...byName.values()].map(({ definition }) => definition);
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): KnownTool | undefined {
    return this.#byName.get(name);
  }

  /** The tools by their names without prefix. The first tool with a name has it. */
  get bareNames(): ReadonlyMap<string, string> {
    this.#bareNames ??= new Map(
      [...this.#byName.keys()].reverse().map((tool) => [bareToolName(tool), tool] as const),
    );
    return this.#bareNames;
  }

  /** Whether the exposed names of all tools follow from the alias. */
  followsRule(alias: string): boolean {
    this.#longestName ??= [...this.bareNames.keys()].reduce(longer, "");
    return this.bareNames.size === this.size && fitsAsExposedName(exposedName(alias, this.#longestName));
  }

  /** These tools, and those of `others` that they lack, up to the limit. */
  with(others: KnownTools): KnownTools {
    const tools = new Map(this.#byName);
    for (const [name, tool] of others.#byName) {
      if (tools.size >= limits.toolsPerDevice.max) break;
      if (!tools.has(name)) tools.set(name, tool);
    }
    return new KnownTools(tools);
  }

  /** Equal tools are the same object, so that comparing references is enough. */
  equals(others: KnownTools): boolean {
    if (this === others) return true;
    if (this.size !== others.size) return false;
    const tools = others.#byName.values();
    for (const tool of this.#byName.values()) if (tool !== tools.next().value) return false;
    return true;
  }
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one;
}

export const noTools = new KnownTools(new Map());
const lists = new WeakMap<readonly ToolDefinition[], KnownTools>();

/** Fewer than given if all definitions together have become too large. */
export function knownTools(definitions: readonly ToolDefinition[]): KnownTools {
  const existing = lists.get(definitions);
  if (existing !== undefined) return existing;
  const byName = new Map<string, KnownTool>();
  for (const definition of definitions) {
    const tool = knownTool(definition);
    if (tool !== undefined) byName.set(definition.name, tool);
  }
  const created = new KnownTools(byName);
  if (created.size === definitions.length) lists.set(definitions, created);
  return created;
}
