import { isObject, type JsonObject } from "@tendon/protocol";

interface Mirrored {
  readonly path: readonly string[];
  readonly header: string;
}

const annotation = "x-mcp-header";
const prefix = "Mcp-Param-";
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** What a header can carry as it is. Other values are encoded. */
const plain = /^(?! )[\x20-\x7e]*[\x21-\x7e]$/;
const encoded = /^=\?base64\?.*\?=$/i;
const maxDepth = 8;
const maxMirrored = 16;

/**
 * The arguments that a newer server wants as headers too, beside the body. Agents never see these annotations; the
 * gateway, which is the server's client, fulfils them.
 */
export class McpParamHeaders {
  /** By tool. Most tools have none. */
  readonly #tools = new Map<string, readonly Mirrored[]>();

  /** Reads the entries of a page of the server's tool list. */
  learn(entries: unknown): void {
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (!isObject(entry) || typeof entry["name"] !== "string") continue;
      const mirrored = [...declarations(entry["inputSchema"], [])].slice(0, maxMirrored);
      if (mirrored.length === 0) this.#tools.delete(entry["name"]);
      else this.#tools.set(entry["name"], mirrored);
    }
  }

  /** The headers of a call; `undefined` if it has none. */
  of({ name, arguments: args }: JsonObject): Record<string, string> | undefined {
    const mirrored = typeof name === "string" ? this.#tools.get(name) : undefined;
    if (mirrored === undefined) return undefined;
    const found = mirrored.flatMap(({ path, header }): [string, string][] => {
      const value = path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), args);
      const isPrimitive = ["string", "boolean"].includes(typeof value) || Number.isInteger(value);
      return isPrimitive ? [[`${prefix}${header}`, encode(String(value))]] : [];
    });
    return found.length === 0 ? undefined : Object.fromEntries(found);
  }
}

function* declarations(schema: unknown, path: readonly string[]): Generator<Mirrored> {
  if (!isObject(schema) || path.length > maxDepth) return;
  const header = schema[annotation];
  if (path.length > 0 && typeof header === "string" && token.test(header)) yield { path, header };
  const { properties } = schema;
  if (!isObject(properties)) return;
  for (const [key, child] of Object.entries(properties)) yield* declarations(child, [...path, key]);
}

function encode(value: string): string {
  if (plain.test(value) && !encoded.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString("base64")}?=`;
}
