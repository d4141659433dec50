/**
 * A fleet says the same few tools ten thousand times. Each is kept once for all devices that have it, with the
 * validator of its arguments: less memory, and one shape of schema that the engine knows instead of thousands.
 * Nothing here belongs to a device: the values are equal to the letter and never changed.
 */
import {
  type ArgumentProblem,
  inlineReferences,
  isObject,
  type JsonObject,
  misspeltArguments,
  SchemaValidator,
  type ToolDefinition,
} from "@tendon/protocol";
import { plainSchema, type SurelyFits } from "./plain-schema.ts";

const none: readonly ArgumentProblem[] = [];

export class KnownTool {
  readonly definition: ToolDefinition;
  readonly #surelyFits: SurelyFits | undefined;
  #validator: SchemaValidator | undefined;

  constructor(definition: ToolDefinition) {
    this.definition = definition;
    this.#surelyFits = plainSchema(definition.inputSchema);
  }

  misfits(args: JsonObject): readonly ArgumentProblem[] {
    if (this.#surelyFits?.(args) === true) return none;
    this.#validator ??= new SchemaValidator(this.definition.inputSchema);
    return this.#validator.problems(args);
  }

  /** What may have gone wrong with arguments that do not fit: names that are nearly those of the tool. */
  misspelt(args: JsonObject): string {
    const { properties } = inlineReferences(this.definition.inputSchema);
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
