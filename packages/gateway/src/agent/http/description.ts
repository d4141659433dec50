/** What the routes' schemas alone do not give to the OpenAPI description. */
import swagger from "@fastify/swagger";
import { Problem } from "@tendon/protocol";
import type { FastifyRequest, FastifySchema } from "fastify";
import type { Http } from "./server.ts";

/** The error responses of every route. */
export const failures = {
  "4xx": {
    description: "The request was rejected",
    content: { "application/problem+json": { schema: Problem } },
  },
  "5xx": {
    description: "The request failed",
    content: { "application/problem+json": { schema: Problem } },
  },
};

const successes: Readonly<Record<string, string>> = {
  200: "Done",
  201: "Created",
  202: "Accepted",
  204: "Done; the answer is empty",
};

type Schemas = Record<string, object>;

export async function describeRoutes(http: Http, version: string): Promise<void> {
  const responses: unknown[] = [];
  http.addHook("onRoute", ({ schema }) => {
    if (schema?.response !== undefined) responses.push(schema.response);
  });
  await http.register(swagger, {
    openapi: {
      info: {
        title: "Tendon",
        version,
        description: "Live control of devices that offer tools, for agents, apps and people.",
      },
      components: {
        // Read when the description is first requested: most gateways are never asked, and all of them would start later.
        get schemas() {
          return namedSchemas(responses);
        },
        securitySchemes: { token: { type: "http", scheme: "bearer" } },
      },
      security: [{ token: [] }],
    },
    transform: ({ schema, url }) => ({ url, schema: described(schema) }),
  });
}

/** Schemas with an `$id`, by that name. The plugin writes them out at each use otherwise. */
function namedSchemas(values: readonly unknown[]): Schemas {
  const found: Schemas = {};
  withReferences(values, found);
  return found;
}

function described(schema: FastifySchema): FastifySchema {
  if (schema?.response === undefined) return schema;
  const plain = withReferences(schema, {}) as FastifySchema;
  const response = Object.entries(plain.response as object).map(([status, named]) => {
    const text = successes[status];
    if ("content" in named || named.type === "null") return [status, { description: text, ...named }];
    return [status, { description: text, content: { "application/json": { schema: named } } }];
  });
  return { ...plain, response: Object.fromEntries(response) };
}

/** A copy with references to the schemas that have an `$id`, which are added to `found`. */
function withReferences(value: unknown, found: Schemas): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, found));
  if (typeof value !== "object" || value === null) return value;
  const { $id: name, ...schema } = value as { readonly $id?: unknown };
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, withReferences(inner, found)]),
  );
  // Generators of clients make a type of an enum only if it has one.
  const values: unknown = copy["enum"];
  if (Array.isArray(values) && values.every((item) => typeof item === "string")) copy["type"] ??= "string";
  if (typeof name !== "string") return copy;
  found[name] = copy;
  return { $ref: `#/components/schemas/${name}` };
}

/** The address under which the client reached the gateway. The server has checked the host. */
export function serverOf({ protocol, host }: FastifyRequest, publicUrl: string | undefined): string {
  const asked = new URL(`${protocol}://${host}`);
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  return (known?.hostname === asked.hostname ? known.href : asked.origin).replace(/\/$/, "");
}
