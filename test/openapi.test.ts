/** The OpenAPI description: valid as a whole, and complete enough for generators of clients. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { askAll } from "./http-client.ts";
import { openSite, startSite } from "./site.ts";

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: object };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, unknown>> }>
  >;
}

interface Description {
  readonly servers?: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const problemSchema = { schema: { $ref: "#/components/schemas/Problem" } };

describe("the OpenAPI description", () => {
  let description: Description;

  beforeAll(async () => {
    const site = await startSite();
    const { body } = await askAll(site.url, { path: "/api/v1/openapi.json" });
    description = body as unknown as Description;
    await site.stop();
  });

  function operations(): [name: string, operation: Operation][] {
    return Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path.replace("/api/v1", "")}`,
        operation,
      ]),
    );
  }

  const operationAt = (name: string) => operations().find(([known]) => known === name)?.[1];

  it("is valid by the schema of its OpenAPI version", async () => {
    const validator = new Validator();
    const { errors, valid } = await validator.validate(structuredClone(description) as never);
    expect({ errors, valid }).toEqual({ valid: true });
    expect(validator.version).toBe("3.0");
  });

  it("has only types of JSON Schema, and only references that resolve", () => {
    const types = new Set<unknown>();
    const references = new Set<string>();
    const visit = (value: unknown, key: string) => {
      if (typeof value !== "object" || value === null) return;
      const { type, $ref, enum: choices } = value as { type?: unknown; $ref?: unknown; enum?: unknown };
      if (key !== "properties" && (type !== undefined || Array.isArray(choices))) types.add(type);
      if (typeof $ref === "string") references.add($ref);
      for (const [name, inner] of Object.entries(value)) visit(inner, name);
    };
    visit(description.paths, "");
    visit(description.components.schemas, "");
    expect([...types].sort()).toEqual(["array", "boolean", "integer", "number", "object", "string"]);
    const known = Object.keys(description.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(known).toEqual(expect.arrayContaining([...references]));
    expect(references).toContain("#/components/schemas/Problem");
    // A schema that nothing refers to is a copy of one that is written out elsewhere.
    expect([...references].sort()).toEqual(known.sort());
  });

  it("names every operation once, and every name is short", () => {
    const names = operations().map(([, { operationId }]) => operationId ?? "");
    expect(names.filter((name) => !/^[a-z][a-zA-Z]{3,31}$/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(["listDevices", "callTool", "callMany", "streamEvents"]));
  });

  it("describes a success and the errors of every operation", () => {
    for (const [name, { responses }] of operations()) {
      expect(Object.keys(responses), name).toContainEqual(expect.stringMatching(/^2\d\d$/));
      for (const status of ["4XX", "5XX"]) {
        expect(responses[status]?.content, `${name} ${status}`).toMatchObject({
          "application/problem+json": problemSchema,
        });
      }
      for (const { description: text } of Object.values(responses)) expect(text).not.toBe("Default Response");
    }
  });

  it("has the formats of streams, exports and pictures", () => {
    const formats = (name: string, status = "200") =>
      Object.keys(operationAt(name)?.responses[status]?.content ?? {});
    expect(formats("GET /events")).toEqual(["text/event-stream"]);
    for (const name of ["GET /calls", "GET /audit"])
      expect(formats(name)).toEqual(["application/json", "text/csv", "application/x-ndjson"]);
    expect(formats("GET /calls/{id}/picture")).toEqual(["image/*"]);
    expect(formats("POST /devices/{device}/mcp", "202")).toEqual([]);
    expect(formats("POST /devices/{device}/control", "4XX").sort()).toEqual([
      "application/json",
      "application/problem+json",
    ]);
  });

  it("names the server by the address that was asked", async () => {
    const site = await openSite();
    const own = await askAll(site.url, { path: "/api/v1/openapi.json" });
    expect(own.body["servers"]).toEqual([{ url: site.url }]);
    const { port } = new URL(site.url);
    const headers = { host: `localhost:${port}` };
    const { body } = await askAll(site.url, { path: "/api/v1/openapi.json", headers });
    expect(body["servers"]).toEqual([{ url: `http://localhost:${port}` }]);
    const yaml = await askAll(site.url, { path: "/docs/yaml", headers });
    expect(parse(yaml.text)).toEqual(body);
  });

  it("names the public address behind a proxy", async () => {
    const behind = await openSite({ config: { http: { publicUrl: "https://tendon.example/" } } });
    const headers = { host: "tendon.example" };
    const { body } = await askAll(behind.url, { path: "/api/v1/openapi.json", headers });
    expect(body["servers"]).toEqual([{ url: "https://tendon.example" }]);
  });
});
