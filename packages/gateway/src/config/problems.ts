/** Turns validation errors into sentences that name the place and the expected value. */
import { didYouMean, editDistance, inWords } from "@tendon/protocol";
import type { TSchema } from "typebox";
import { typeOf } from "./reference.ts";

export interface Problem {
  readonly where: string;
  readonly message: string;
}

interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: object;
}

interface Places {
  readonly file: string | undefined;
  readonly lineOf: (path: string[]) => number | undefined;
  readonly envOf: (path: string[]) => string | undefined;
}

export function explainProblem(error: SchemaError, schema: TSchema, places: Places): Problem[] {
  // The validator reports an unknown key twice; only the other report names the key.
  if (error.keyword === "boolean") return [];
  const at = error.instancePath.split("/").slice(1);
  if (error.keyword === "additionalProperties") {
    const { additionalProperties = [] } = error.params as { additionalProperties?: string[] };
    const known = Object.keys(propertiesAt(schema, at));
    return additionalProperties.map((key) => ({
      where: placeOf([...at, key], places),
      message: `unknown setting \`${[...at, key].join(".")}\`${hint(key, known)}`,
    }));
  }
  const expected = schemaAt(schema, at) as { anyOf?: unknown; description?: string } | undefined;
  const description = expected?.description;
  // The validator also reports each of the alternatives.
  if (expected?.anyOf !== undefined && error.keyword !== "anyOf") return [];
  return [
    {
      where: placeOf(at, places),
      message: `\`${at.join(".")}\` ${expectation(error, expected)}${description === undefined ? "" : ` (${description})`}`,
    },
  ];
}

/** The problem of a TENDON_… variable that is not a setting. */
export function explainVariable(name: string, known: readonly string[], fileOnly: readonly string[]): string {
  if (fileOnly.includes(name))
    return "can be set in the file only, so that no variable can start a program or add a server";
  const near = nearest(name, known);
  return near === undefined
    ? "is not a setting; `tendon config show` lists all variables"
    : `is not a setting; did you mean ${near}?`;
}

function expectation(error: SchemaError, expected: object | undefined): string {
  if (error.keyword === "anyOf" && expected !== undefined) return `must be a ${typeOf(expected)}`;
  const { allowedValues } = error.params as { allowedValues?: unknown[] };
  if (allowedValues !== undefined) return `must be one of ${allowedValues.join(", ")}`;
  return inWords(error);
}

/** The place of a setting: its variable, its line in the file, or `settings`. */
export function placeOf(at: string[], places: Places): string {
  // A variable may contain a whole list; an error inside the list is reported for the variable.
  for (let length = at.length; length > 0; length -= 1) {
    const variable = places.envOf(at.slice(0, length));
    if (variable !== undefined) return variable;
  }
  const line = places.lineOf(at);
  if (places.file !== undefined && line !== undefined) return `${places.file}:${line}`;
  return "settings";
}

function schemaAt(schema: TSchema, at: readonly string[]): TSchema | undefined {
  return at.reduce<TSchema | undefined>((node, key) => itemsOf(node, key) ?? propertiesOf(node)[key], schema);
}

function propertiesAt(schema: TSchema, at: readonly string[]): Record<string, TSchema> {
  return propertiesOf(schemaAt(schema, at));
}

function propertiesOf(schema: TSchema | undefined): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};
}

/** The schema of a list's items, if the key is an index. */
function itemsOf(schema: TSchema | undefined, key: string): TSchema | undefined {
  return /^\d+$/.test(key) ? (schema as { items?: TSchema } | undefined)?.items : undefined;
}

function hint(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near !== undefined) return didYouMean([near]);
  return known.length > 0 ? `; known settings are ${known.join(", ")}` : "";
}

/** More than for names of devices and tools, because there are few settings. */
const maxDistance = 3;

function nearest(key: string, known: readonly string[]): string | undefined {
  return known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase(), maxDistance) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance)[0]?.name;
}
