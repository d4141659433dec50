// What the official conformance suite expects to find behind a server: a standard MCP server, written with the official
// SDK. The gateway uses it as a device, so that the suite tests the gateway: on its pipes, or over HTTP with `http`.
import http from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { capabilities, handlers, identity } from "./fixture-contents.mjs";

/** `changes`: what a tool calls to report a change of the lists. */
function makeServer(changes) {
  const server = new Server(identity, { capabilities });
  for (const [method, handle] of Object.entries(handlers))
    server.setRequestHandler(method, ({ params }, context) => handle(params, context, changes ?? server));
  return server;
}

function serveHttp() {
  // Each request has a server of its own, so that changes go to the streams of all.
  const handler = createMcpHandler(() => makeServer(changes), { legacy: "reject" });
  const changes = {
    sendToolListChanged: async () => handler.notify.toolsChanged(),
    sendPromptListChanged: async () => handler.notify.promptsChanged(),
  };
  const serve = toNodeHandler(handler);
  const listener = http.createServer((request, response) => void serve(request, response));
  listener.listen(0, "127.0.0.1", () => console.log(listener.address().port));
}

if (process.argv[2] === "http") serveHttp();
else serveStdio(() => makeServer());
