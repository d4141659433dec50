import type { Server } from "@modelcontextprotocol/server";
import type { AgentView } from "./agent-view.ts";
import { passedCompletion, passedPrompt, passedPrompts } from "./resources/resources.ts";

/** Prompts and completions of a standard MCP server, where it is shown alone; Tendon has none of its own. */
export function servePrompts(server: Server, view: AgentView): void {
  const { prompts, completions } = view.program ?? {};
  if (prompts === true) {
    server.setRequestHandler("prompts/list", async ({ params }, context) => {
      const { items, ...more } = await passedPrompts({ view, server, context }, params?.cursor);
      return { prompts: items, ...more };
    });
    server.setRequestHandler("prompts/get", ({ params }, context) =>
      passedPrompt({ view, server, context }, params.name, params.arguments ?? {}),
    );
  }
  if (completions === true) {
    server.setRequestHandler("completion/complete", ({ params }, context) =>
      passedCompletion({ view, server, context }, params),
    );
  }
}
