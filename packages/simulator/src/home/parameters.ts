import { HomeCallError } from "./home-errors.ts";
import { isName, maxPeople } from "./settings.ts";

/** A parameter is a JSON Schema, which `ready` shows and calls are checked against. */
export type Parameter = { readonly description?: string } & (
  | { readonly type: "string"; readonly default?: string }
  | { readonly type: "boolean"; readonly default?: boolean }
  | {
      readonly type: "number" | "integer";
      readonly default?: number;
      readonly minimum?: number;
      readonly maximum?: number;
    }
  | { readonly type: "array"; readonly items: { readonly type: "string" } }
);

/** Integers without a range have 32 bits, as on a board. */
const maxInteger = 2 ** 31 - 1;

export type Parameters = Readonly<Record<string, Parameter>>;

type ValueOf<Of extends Parameter> = Of["type"] extends "string"
  ? string
  : Of["type"] extends "boolean"
    ? boolean
    : Of["type"] extends "array"
      ? readonly string[]
      : number;

export type ValuesOf<All extends Parameters, Required extends keyof All> = {
  readonly [Name in Required]: ValueOf<All[Name]>;
} & { readonly [Name in Exclude<keyof All, Required>]?: ValueOf<All[Name]> };

/** Returns the tool's arguments, or throws with the protocol's message. Null counts as missing. */
export function readArguments<All extends Parameters, Required extends keyof All & string>(
  parameters: All,
  required: readonly Required[],
  args: Readonly<Record<string, unknown>>,
): ValuesOf<All, Required> {
  for (const name of required) {
    if (given(args, name) !== undefined) continue;
    const listed = required.join(", ");
    throw new HomeCallError(
      "argument_missing",
      required.length > 1
        ? `Faltan parámetros requeridos: ${listed}`
        : `Falta parámetro requerido: ${listed}`,
      { name },
    );
  }
  const values: Record<string, unknown> = {};
  for (const name in parameters) {
    const value = given(args, name);
    if (value === undefined) continue;
    const expected = refusal(parameters[name], value);
    if (expected !== undefined) {
      const text = `Parámetro inválido: '${name}' debe ser ${expected}, se recibió ${shown(value)}`;
      const parameter = parameters[name];
      throw new HomeCallError("argument_invalid", text, {
        name,
        ...(parameter === undefined ? {} : { parameter }),
      });
    }
    values[name] = value;
  }
  return values as ValuesOf<All, Required>;
}

function given(args: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(args, name) ? (args[name] ?? undefined) : undefined;
}

function refusal(parameter: Parameter | undefined, value: unknown): string | undefined {
  switch (parameter?.type) {
    case "string":
      return typeof value === "string" ? undefined : "un texto";
    case "boolean":
      return typeof value === "boolean" ? undefined : "true o false";
    case "number":
    case "integer": {
      const { minimum = -maxInteger - 1, maximum = maxInteger } = parameter;
      const whole = parameter.type === "integer";
      const fits = typeof value === "number" && value >= minimum && value <= maximum;
      if (fits && (!whole || Number.isInteger(value))) return undefined;
      return `un número${whole ? " entero" : ""} de ${minimum} a ${maximum}`;
    }
    case "array":
      return Array.isArray(value) && value.length <= maxPeople && value.every(isName)
        ? undefined
        : `una lista de hasta ${maxPeople} nombres`;
    case undefined:
      return undefined;
  }
}

const maxShownLength = 80;

/** The value as JSON for an error message: truncated, and without nested values, which may be deep. */
export function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "una lista" : "un objeto";
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, maxShownLength + 1) : value);
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
}
