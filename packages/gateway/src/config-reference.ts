/** The settings as people are told of them: names, variables, defaults, and values without their secrets. */
import type { TSchema } from "typebox";
import { ConfigSchema } from "./config-schema.ts";

/** Which programs run is decided by whoever owns the file, never by a variable somebody slipped in. */
export const fileOnly = new Set(["devices.stdio"]);

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

/** One line of the reference of settings. */
export interface Setting {
  readonly name: string;
  /** `undefined` for settings that come from the file only. */
  readonly variable: string | undefined;
  readonly default: unknown;
  readonly description: string;
}

export function settingsReference(): Setting[] {
  return leavesOf(ConfigSchema).map(({ path: at, schema }) => {
    const { default: value, description = "" } = schema as { default?: unknown; description?: string };
    const name = at.join(".");
    return {
      name,
      variable: fileOnly.has(name) ? undefined : environmentName(at),
      default: value,
      description,
    };
  });
}

const secretName = /token|password|secret|key$/i;
const shownInstead = "(hidden)";

/** The settings as they may be shown: passwords, tokens and the variables of programs are hidden. */
export function withoutSecrets(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    if (secretName.test(name)) return shownInstead;
    return value.replace(/^([a-z]+:\/\/[^:@/]*:)[^@/]*@/i, `$1${shownInstead}@`);
  }
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, name));
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      name === "env" ? shownInstead : withoutSecrets(item, key === "tls" ? "" : key),
    ]),
  );
}

function isTree(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
