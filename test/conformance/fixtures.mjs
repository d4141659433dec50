// What the official conformance suite expects to find behind a server: a standard MCP server on its pipes, written with
// the official SDK. The gateway runs it as a device, so that the suite tests the gateway.
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { capabilities, handlers, identity } from "./fixture-contents.mjs";

serveStdio(() => {
  const server = new Server(identity, { capabilities });
  for (const [method, handle] of Object.entries(handlers))
    server.setRequestHandler(method, ({ params }, context) => handle(params, context, server));
  return server;
});
