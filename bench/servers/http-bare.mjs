// The least an HTTP server of the same framework can do: a validated body in, the same shape out.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { reportTo } from "./report.mjs";

const require = createRequire(new URL("../../packages/gateway/package.json", import.meta.url));
const { default: fastify } = await import(pathToFileURL(require.resolve("fastify")).href);
const http = fastify();
http.post(
  "/call",
  {
    schema: {
      body: { type: "object", properties: { arguments: { type: "object" } }, required: ["arguments"] },
    },
  },
  async (request) => ({
    result: { content: [{ type: "text", text: "true" }], isError: false },
    got: request.body.arguments,
  }),
);
await http.listen({ port: 0, host: "127.0.0.1" });
reportTo(process, { url: `http://127.0.0.1:${http.server.address().port}` });
