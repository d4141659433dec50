/** Requests as clients send them: one for each route of the description, and one for each method of MCP. */
import { must } from "../target.ts";
import type { FuzzSite } from "./entry.ts";
import { ask, asObject } from "./http.ts";

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
  readonly minimum?: number;
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema?: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}

const references: Readonly<Record<string, string>> = {
  device: "fuzz-rest",
  tool: "any",
  id: "0190f3a0-0000-7000-8000-000000000000",
};

/** A value that a schema may accept. */
function example(schema: Schema, name: string): unknown {
  if (references[name] !== undefined && schema.type === "string") return references[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.anyOf !== undefined) return example(schema.anyOf[0] ?? {}, name);
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, child]) => [key, example(child, key)]),
      );
    case "array":
      return [example(schema.items ?? {}, name)];
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    default:
      return name;
  }
}

export async function routeSeeds({ url, adminToken }: FuzzSite): Promise<Buffer[]> {
  const answered = await ask(url, {
    path: "/api/v1/openapi.json",
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const { paths = {} } = asObject(answered?.text ?? "") as {
    paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const seeds = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
      const at = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => references[name] ?? name);
      const query = parameters
        .filter((parameter) => parameter.in === "query")
        .map(({ name, schema = {} }) => `${name}=${encodeURIComponent(String(example(schema, name)))}`);
      const headers = Object.fromEntries(
        parameters.filter((parameter) => parameter.in === "header").map(({ name }) => [name, `${name}-1`]),
      );
      const [schema] = Object.values(requestBody?.content ?? {}).map((content) => content.schema ?? {});
      const body = schema === undefined ? {} : { body: example(schema, "body") };
      const seed = { method: method.toUpperCase(), headers, ...body };
      const full = query.length === 0 ? at : `${at}?${query.join("&")}`;
      return [
        { ...seed, path: full, token: "admin" },
        { ...seed, path: at, token: "limited" },
      ];
    }),
  );
  must(seeds.length > 60, "the description lists the routes");
  return [...seeds, ...otherRoutes].map((seed) => Buffer.from(JSON.stringify(seed)));
}

const otherRoutes = [
  "/",
  "/healthz",
  "/readyz",
  "/metrics",
  "/docs",
  "/docs/static/../x",
  "/docs/static/%2e%2e/x",
  "/docs/static/..%2fx",
  "/guide/index.json",
  "/assets/..%5c..%5cx",
  "/xiaozhi/firmware/abc",
  "/vision/snapshot/abc",
].map((path) => ({ method: "GET", path, token: "none", headers: {} }));

const clientInfo = { name: "fuzz", version: "1" };
const requests: readonly (readonly [method: string, params: { readonly [key: string]: unknown }])[] = [
  ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }],
  ["ping", {}],
  ["tools/list", {}],
  ["tools/list", { cursor: "dG9vbA" }],
  ["tools/call", { name: "devices_list", arguments: {} }],
  ["tools/call", { name: "tools_search", arguments: { query: "volume", limit: 3 } }],
  ["tools/call", { name: "device_call", arguments: { device: "keeper", tool: "any", arguments: { a: 1 } } }],
  ["tools/call", { name: "device_state", arguments: { device: "keeper" }, _meta: { progressToken: 1 } }],
  ["tools/call", { name: "keeper__any", arguments: {} }],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "device://keeper/state" }],
  ["resources/subscribe", { uri: "device://keeper/events" }],
  ["prompts/list", {}],
  ["prompts/get", { name: "x", arguments: {} }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "b" } }],
  ["logging/setLevel", { level: "info" }],
  ["notifications/cancelled", { requestId: 1, reason: "x" }],
  ["server/discover", {}],
];

export const mcpSeeds: readonly Buffer[] = requests.map(([method, params], at) =>
  Buffer.from(
    JSON.stringify({
      jsonrpc: "2.0",
      ...(method.startsWith("notifications/") ? {} : { id: at + 1 }),
      method,
      params,
    }),
  ),
);

const modernVersion = "2026-07-28";
const meta = {
  "io.modelcontextprotocol/protocolVersion": modernVersion,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": clientInfo,
};

/** The headers that repeat fields of a message. */
export function modernHeaders(text: string): Record<string, string> {
  const { method, params } = asObject(text);
  const { name, uri } = (typeof params === "object" && params !== null ? params : {}) as Record<
    string,
    unknown
  >;
  const named = name ?? uri;
  const isPlain = (value: unknown): value is string =>
    typeof value === "string" && /^[!-~]{1,200}$/.test(value);
  return {
    "mcp-protocol-version": modernVersion,
    ...(isPlain(method) ? { "mcp-method": method } : {}),
    ...(isPlain(named) ? { "mcp-name": named } : {}),
  };
}

const modernRequests = [
  ...requests.filter(([method]) => method !== "initialize" && !method.startsWith("notifications/")),
  [
    "subscriptions/listen",
    { notifications: { toolsListChanged: true, resourceSubscriptions: ["device://keeper/state"] } },
  ],
] as const;

export const modernSeeds: readonly Buffer[] = modernRequests.flatMap(([method, params], at) => {
  const body = { jsonrpc: "2.0", id: at + 1, method, params: { ...params, _meta: meta } };
  // Without headers they are made from the message, so that a change of the message gets further.
  return [{ headers: modernHeaders(JSON.stringify(body)), body }, { body }].map((seed) =>
    Buffer.from(JSON.stringify(seed)),
  );
});
