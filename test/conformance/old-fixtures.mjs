// The twin of fixtures.mjs from the era before 2026-07-28: the same tools, resources and prompts behind the older SDK,
// which asks its client while a tool runs. On its pipes as a device of the gateway; with `http` it serves the
// suite directly, to compare what it passes alone.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { capabilities, handlers, identity } from "./fixture-contents.mjs";

const requireTool = createRequire(new URL("../tools/package.json", import.meta.url));
const sdk = (name) => import(pathToFileURL(requireTool.resolve(`@modelcontextprotocol/sdk/${name}.js`)).href);
const { Server } = await sdk("server/index");
const types = await sdk("types");

const schemas = {
  "tools/list": types.ListToolsRequestSchema,
  "tools/call": types.CallToolRequestSchema,
  "resources/list": types.ListResourcesRequestSchema,
  "resources/templates/list": types.ListResourceTemplatesRequestSchema,
  "resources/read": types.ReadResourceRequestSchema,
  "resources/subscribe": types.SubscribeRequestSchema,
  "resources/unsubscribe": types.UnsubscribeRequestSchema,
  "prompts/list": types.ListPromptsRequestSchema,
  "prompts/get": types.GetPromptRequestSchema,
  "completion/complete": types.CompleteRequestSchema,
};

/** Carries a handler out; where that wants to know more, the client is asked at once. */
async function carryOut(handle, params, extra, server) {
  for (let inputResponses; ; ) {
    const mcpReq = {
      inputResponses,
      _meta: extra._meta,
      requestState: () => undefined,
      log: (level, data) =>
        extra.sendNotification({ method: "notifications/message", params: { level, data } }),
      notify: extra.sendNotification,
    };
    const result = await handle(params, { mcpReq }, server);
    if (result.resultType !== "input_required") return result;
    const answers = Object.entries(result.inputRequests).map(async ([key, { method, params }]) => [
      key,
      await extra.sendRequest({ method, params }, types.ResultSchema),
    ]);
    inputResponses = Object.fromEntries(await Promise.all(answers));
  }
}

function makeServer() {
  const server = new Server(identity, { capabilities });
  for (const [method, handle] of Object.entries(handlers))
    server.setRequestHandler(schemas[method], ({ params }, extra) => carryOut(handle, params, extra, server));
  return server;
}

async function serveHttp() {
  const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp");
  const sessions = new Map();
  const serve = async (request, response) => {
    const known = sessions.get(request.headers["mcp-session-id"]);
    if (known !== undefined) return await known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      enableDnsRebindingProtection: true,
      allowedHosts: [`127.0.0.1:${listener.address().port}`],
    });
    await makeServer().connect(transport);
    await transport.handleRequest(request, response);
  };
  const listener = http.createServer((request, response) => void serve(request, response));
  listener.listen(0, "127.0.0.1", () => console.log(listener.address().port));
}

if (process.argv[2] === "http") await serveHttp();
else {
  const { StdioServerTransport } = await sdk("server/stdio");
  await makeServer().connect(new StdioServerTransport());
}
