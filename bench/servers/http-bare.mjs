// The least an HTTP server of the same framework can do: a validated body in, the same shape out.
import fastify from "fastify";
import { reportTo } from "./report.mjs";

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
