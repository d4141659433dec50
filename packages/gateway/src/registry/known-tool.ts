/**
 * A fleet says the same few tools ten thousand times. Each is kept once for all devices that have it, with the
 * validator of its arguments: less memory, and one shape of schema that the engine knows instead of thousands.
 * Nothing here belongs to a device: the values are equal to the letter and never changed.
 */
import { Validator } from "@cfworker/json-schema";
import {
  type ArgumentProblem,
  isObject,
  type JsonObject,
  misspeltArguments,
  type ToolDefinition,
} from "@tendon/protocol";
import { readProblems } from "./argument-problems.ts";
import { plainSchema, type SurelyFits } from "./plain-schema.ts";

export class KnownTool {
  readonly definition: ToolDefinition;
  readonly #surelyFits: SurelyFits | undefined;
  #validator: Validator | undefined;

  constructor(definition: ToolDefinition) {
    this.definition = definition;
    this.#surelyFits = plainSchema(definition.inputSchema);
  }

  misfits(args: JsonObject): ArgumentProblem[] {
    if (this.#surelyFits?.(args) === true) return [];
    this.#validator ??= new Validator(this.definition.inputSchema, "2020-12", false);
    const outcome = this.#validator.validate(args);
    return outcome.valid ? [] : readProblems(outcome.errors);
  }

  /** What may have gone wrong with arguments that do not fit: names that are nearly those of the tool. */
  misspelt(args: JsonObject): string {
    const { properties } = this.definition.inputSchema;
    return isObject(properties) ? misspeltArguments(Object.keys(args), Object.keys(properties)) : "";
  }
}

const known = new Map<string, WeakRef<KnownTool>>();
const gone = new FinalizationRegistry<string>((text) => {
  if (known.get(text)?.deref() === undefined) known.delete(text);
});

/** The same object for every equal definition, as long as somebody holds it. */
export function knownTool(definition: ToolDefinition): KnownTool {
  const text = JSON.stringify(definition);
  const held = known.get(text)?.deref();
  if (held !== undefined) return held;
  const made = new KnownTool(definition);
  known.set(text, new WeakRef(made));
  gone.register(made, text);
  return made;
}
