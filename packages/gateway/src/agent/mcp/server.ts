import { Server } from "@modelcontextprotocol/server";
import { version } from "../../version.ts";
import type { AgentView } from "./agent-view.ts";
import { callTool } from "./call-tool.ts";

/** One server for one session, or for one request of the newer era; all that lasts is in the view. */
export function agentServer(view: AgentView): Server {
  const server = new Server(
    { name: "tendon", title: "Tendon", version },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler("tools/list", ({ params }) => view.list(params?.cursor));
  server.setRequestHandler("tools/call", (request, context) => callTool(view, request, context));
  return server;
}
