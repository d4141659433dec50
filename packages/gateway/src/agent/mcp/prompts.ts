import type { Server } from "@modelcontextprotocol/server";
import type { AgentView } from "./agent-view.ts";
import { programCompletion, programPrompt, programPrompts } from "./resources/resources.ts";

/** Prompts and completions of an MCP program, at the program's own address. Tendon has none of its own. */
export function servePrompts(server: Server, view: AgentView): void {
  const { prompts, completions } = view.program ?? {};
  if (prompts === true) {
    server.setRequestHandler("prompts/list", async ({ params }, context) => {
      const { items, ...more } = await programPrompts({ view, server, context }, params?.cursor);
      return { prompts: items, ...more };
    });
    server.setRequestHandler("prompts/get", ({ params }, context) =>
      programPrompt({ view, server, context }, params.name, params.arguments ?? {}),
    );
  }
  if (completions === true) {
    server.setRequestHandler("completion/complete", ({ params }, context) =>
      programCompletion({ view, server, context }, params),
    );
  }
}
