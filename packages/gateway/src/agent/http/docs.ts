/** The OpenAPI description: as JSON, as YAML, and as a page that loads nothing from other hosts. */
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { stringify } from "yaml";
import { TendonError } from "../../errors.ts";
import { packageFolder } from "../../package-files.ts";
import { serverOf } from "./description.ts";
import { type MemoryFile, memoryFile, readFolder, sendFile } from "./memory-files.ts";
import type { Http } from "./server.ts";

const contentPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join("; ");

const descriptionPath = "/api/v1/openapi.json";

/** BaseLayout has no Swagger bar; `validatorUrl: null` turns off the check at another host. */
const startScript = `window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "${descriptionPath}",
    dom_id: "#swagger-ui",
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "list",
    displayRequestDuration: true,
    validatorUrl: null,
  });
});
`;

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Tendon REST</title>
    <link rel="icon" href="/icon.svg">
    <link rel="stylesheet" href="/docs/static/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/static/swagger-ui-bundle.js"></script>
    <script src="/docs/static/start.js"></script>
  </body>
</html>
`;

/** Descriptions are kept for this many addresses of the gateway. */
const maxAddresses = 16;

export function docsRoutes(http: Http, publicUrl: string | undefined): void {
  const hidden = { schema: { hide: true } };
  const html = once(() => memoryFile("page.html", page));
  const json = oncePerServer((servers) =>
    memoryFile("openapi.json", JSON.stringify({ ...http.swagger(), servers })),
  );
  const yaml = oncePerServer(async (servers) =>
    memoryFile("openapi.yaml", await yamlOf({ ...http.swagger(), servers })),
  );
  const files = once(readPageFiles);

  http.get("/docs", hidden, async (request, reply) => {
    reply.header("content-security-policy", contentPolicy);
    return await sendFile(request, reply, await html(), "no-cache");
  });
  for (const [at, description] of [
    [descriptionPath, json],
    ["/docs/json", json],
    ["/docs/yaml", yaml],
  ] as const) {
    http.get(at, hidden, async (request, reply) =>
      sendFile(request, reply, await description(serverOf(request, publicUrl)), "no-cache"),
    );
  }
  http.get("/docs/static/:file", hidden, async (request, reply) => {
    const { file } = request.params as { file: string };
    const found = (await files()).get(file);
    if (found === undefined) throw new TendonError("not_found", "the documentation has no such file");
    return await sendFile(request, reply, found, "public, max-age=86400");
  });
}

/** Swagger UI from @fastify/swagger-ui: `swagger-ui-dist` depends on a package that reports installs. */
async function readPageFiles(): Promise<ReadonlyMap<string, MemoryFile>> {
  const shipped = await readFolder(path.join(packageFolder("@fastify/swagger-ui"), "static"));
  const files = new Map<string, MemoryFile>();
  for (const name of ["swagger-ui.css", "swagger-ui-bundle.js"]) {
    const content = shipped.get(name)?.plain;
    if (content !== undefined) files.set(name, await memoryFile(name, content));
  }
  return files.set("start.js", await memoryFile("start.js", startScript));
}

/** The depth of the entries that are written one by one: those of `components.schemas`. */
const entryDepth = 3;

/** Writes entry by entry, because the gateway answers no request meanwhile, and all at once take half a second. */
async function yamlOf(value: object, depth = 1): Promise<string> {
  let text = "";
  for (const [key, inner] of Object.entries(value)) {
    if (depth < entryDepth && isMapping(inner)) {
      const entries = await yamlOf(inner, depth + 1);
      text += `${stringify({ [key]: null }, { nullStr: "" }).trimEnd()}\n${entries.replaceAll(/^(?=.)/gm, "  ")}`;
    } else {
      text += stringify({ [key]: inner }, { strict: false });
      await nextTurn();
    }
  }
  return text;
}

function isMapping(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}

/** Makes the value at the first use, and again after a failure. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** Makes a description for each address of the gateway at its first use. */
function oncePerServer(
  make: (servers: readonly { readonly url: string }[]) => Promise<MemoryFile>,
): (server: string) => Promise<MemoryFile> {
  const made = new Map<string, () => Promise<MemoryFile>>();
  return (url) => {
    const known = made.get(url) ?? once(() => make([{ url }]));
    if (made.size < maxAddresses) made.set(url, known);
    return known();
  };
}
