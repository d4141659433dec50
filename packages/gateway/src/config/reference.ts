/** The reference of settings: names, variables, types, defaults and descriptions. */
import type { TSchema } from "typebox";
import { ConfigSchema } from "./schema.ts";

/** Only the owner of the file decides which programs run and which servers are contacted, never a variable. */
export const fileOnly = new Set(["devices.stdio", "devices.http"]);

export interface Leaf {
  readonly path: string[];
  readonly schema: TSchema;
}

/** Every setting of the schema with its path, in order. */
export function leavesOf(schema: TSchema, at: string[] = []): Leaf[] {
  const properties = (schema as { properties?: Record<string, TSchema> }).properties;
  if (properties === undefined) return [{ path: at, schema }];
  return Object.entries(properties).flatMap(([key, child]) => leavesOf(child, [...at, key]));
}

export function environmentName(at: readonly string[]): string {
  const words = at.map((part) => part.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toUpperCase());
  return `TENDON_${words.join("_")}`;
}

/** One entry of the reference. */
export interface Setting {
  readonly name: string;
  /** `undefined` for settings that can be set in the file only. */
  readonly variable: string | undefined;
  /** The allowed values, as text. */
  readonly type: string;
  readonly default: unknown;
  /** What applies if the setting has no default and is not set. */
  readonly unset: string | undefined;
  readonly description: string;
  /** The page with more information, as a path below docs/. */
  readonly page: string | undefined;
  /** The fields of each entry of a list. */
  readonly fields: readonly Setting[];
}

interface Annotated {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Annotated[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly items?: TSchema;
  readonly default?: unknown;
  readonly unset?: string;
  readonly description?: string;
  readonly page?: string;
}

export function settingsReference(schema: TSchema = ConfigSchema): Setting[] {
  return leavesOf(schema).map(({ path: at, schema: leaf }) => {
    const known = leaf as Annotated;
    const name = at.join(".");
    const { items } = known;
    return {
      name,
      variable: fileOnly.has(name) ? undefined : environmentName(at),
      type: typeOf(known),
      default: known.default,
      unset: known.unset,
      description: known.description ?? "",
      page: known.page,
      fields: (items as Annotated | undefined)?.type === "object" && items ? settingsReference(items) : [],
    };
  });
}

export function typeOf(schema: Annotated): string {
  const { type, const: only, anyOf, enum: choices, minimum, exclusiveMinimum, maximum } = schema;
  if (anyOf !== undefined) return anyOf.map(typeOf).join(", or ");
  if (only !== undefined) return String(only);
  if (choices !== undefined) return choices.map(String).join(", ");
  if (type === "integer" || type === "number") {
    const from = minimum ?? exclusiveMinimum;
    const kind = type === "integer" ? "whole number" : "number";
    if (from === undefined) return kind;
    const above = exclusiveMinimum === undefined ? `from ${from}` : `above ${from}`;
    return maximum === undefined ? `${kind} ${above}` : `${kind} ${above} to ${maximum}`;
  }
  return { string: "text", boolean: "true, false", array: "list", object: "map" }[type ?? ""] ?? "any";
}
