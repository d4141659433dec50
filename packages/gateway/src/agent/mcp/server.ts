import { Server } from "@modelcontextprotocol/server";
import { version } from "../../version.ts";
import type { AgentView } from "./agent-view.ts";
import { callTool } from "./call-tool.ts";
import { servePrompts } from "./prompts.ts";
import { type Subscriptions, serveResources } from "./resources/resources.ts";

/** One server for one session, or for one request of the newer era; all that lasts is in the view. */
export function agentServer(view: AgentView, subscriptions?: Subscriptions): Server {
  const { extras } = view;
  const { prompts, completions } = extras ?? {};
  const server = new Server(
    { name: "tendon", title: "Tendon", version },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        ...(prompts === true ? { prompts: { listChanged: true } } : {}),
        ...(completions === true ? { completions: {} } : {}),
        ...(extras === undefined ? {} : { logging: {} }),
      },
      requestState: { verify: (state) => view.states.open(state) },
    },
  );
  server.setRequestHandler("tools/list", ({ params }) => view.list(params?.cursor));
  server.setRequestHandler("tools/call", (request, context) => callTool({ view, server, context }, request));
  serveResources(server, view, subscriptions);
  if (extras !== undefined) servePrompts(server, view);
  return server;
}
