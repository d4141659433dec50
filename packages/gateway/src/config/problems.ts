/** DeviceLock what the schema complains of into sentences that name the place and what would be right. */
import { didYouMean, editDistance, inWords } from "@tendon/protocol";
import type { TSchema } from "typebox";

export interface Problem {
  readonly where: string;
  readonly message: string;
}

interface SchemaComplaint {
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

export function explainProblem(complaint: SchemaComplaint, schema: TSchema, places: Places): Problem[] {
  // An unknown key is complained of twice, the second time as a schema that is false; the first one names it.
  if (complaint.keyword === "boolean") return [];
  const at = complaint.instancePath.split("/").slice(1);
  if (complaint.keyword === "additionalProperties") {
    const { additionalProperties = [] } = complaint.params as { additionalProperties?: string[] };
    const known = Object.keys(propertiesAt(schema, at));
    return additionalProperties.map((key) => ({
      where: placeOf([...at, key], places),
      message: `unknown setting \`${[...at, key].join(".")}\`${hint(key, known)}`,
    }));
  }
  const description = (schemaAt(schema, at) as { description?: string } | undefined)?.description;
  return [
    {
      where: placeOf(at, places),
      message: `\`${at.join(".")}\` ${expectation(complaint)}${description === undefined ? "" : ` (${description})`}`,
    },
  ];
}

/** A variable that looks like a setting and is none. */
export function explainVariable(name: string, known: readonly string[], fileOnly: readonly string[]): string {
  if (fileOnly.includes(name)) return "comes from the file only, so that no variable can start a program";
  const near = nearest(name, known);
  return near === undefined
    ? "is no setting; `tendon config show` lists the variables there are"
    : `is no setting; did you mean ${near}?`;
}

function expectation(complaint: SchemaComplaint): string {
  const { allowedValues } = complaint.params as { allowedValues?: unknown[] };
  if (allowedValues !== undefined) return `must be one of ${allowedValues.join(", ")}`;
  return inWords(complaint);
}

/** Where a setting stands: its variable, its line in the file, or just that it is one. */
export function placeOf(at: string[], places: Places): string {
  // A variable may hold a whole list: what is wrong inside it is wrong with the variable.
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

/** What the elements of a list are, where this is one and the key the number of one. */
function itemsOf(schema: TSchema | undefined, key: string): TSchema | undefined {
  return /^\d+$/.test(key) ? (schema as { items?: TSchema } | undefined)?.items : undefined;
}

function hint(key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  if (near !== undefined) return didYouMean([near]);
  return known.length > 0 ? `; known here are ${known.join(", ")}` : "";
}

/** More than for names of devices and tools: there are few settings, and somebody surely meant one of them. */
const mostSlips = 3;

function nearest(key: string, known: readonly string[]): string | undefined {
  return known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase(), mostSlips) }))
    .filter(({ distance }) => distance <= mostSlips)
    .sort((a, b) => a.distance - b.distance)[0]?.name;
}
