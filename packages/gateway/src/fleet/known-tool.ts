/**
 * Devices of a fleet list the same few tools. Equal definitions share one immutable object with its argument validator.
 * This saves memory, and the JavaScript engine optimizes one schema instead of thousands.
 */
import {
  type ArgumentProblem,
  callerSchema,
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

export class KnownTool {
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
export function knownTool(definition: ToolDefinition): KnownTool | undefined {
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
