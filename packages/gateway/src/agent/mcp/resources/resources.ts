/**
 * What devices have to show: their state, what happened, their photos; and, where a standard MCP server is shown alone,
 * what it offers itself. Whoever watches one of them is told when it changes.
 */
import {
  type InputRequiredResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ReadResourceResult,
  ResourceNotFoundError,
  type Server,
} from "@modelcontextprotocol/server";
import type { AgentView } from "../agent-view.ts";
import type { McpRequest } from "../asking.ts";
import { listOwn, ownTemplates, readOwn } from "./own-resources.ts";
import { passedResource, passedResources, passedTemplates } from "./passed-on.ts";
import type { Subscriptions } from "./subscriptions.ts";

export { passedCompletion, passedPrompt, passedPrompts } from "./passed-on.ts";
export { Subscriptions } from "./subscriptions.ts";

/** In front of a cursor that is a device's own. */
const passedOn = "device:";

export function serveResources(
  server: Server,
  view: AgentView,
  subscriptions: Subscriptions | undefined,
): void {
  server.setRequestHandler("resources/list", ({ params }, context) =>
    list({ view, server, context }, params?.cursor),
  );
  server.setRequestHandler("resources/templates/list", ({ params }, context) =>
    templates({ view, server, context }, params?.cursor),
  );
  server.setRequestHandler("resources/read", ({ params }, context) =>
    read({ view, server, context }, params.uri),
  );
  if (subscriptions === undefined) return;
  server.setRequestHandler("resources/subscribe", async ({ params }) => {
    await subscriptions.add(params.uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscriptions.remove(params.uri);
    return {};
  });
}

async function list(asking: McpRequest, cursor: string | undefined): Promise<ListResourcesResult> {
  const { view } = asking;
  const passing = view.program?.resources === true;
  if (cursor?.startsWith(passedOn) === true && passing) {
    const { items, nextCursor } = await passedResources(asking, cursor.slice(passedOn.length));
    return { resources: items, ...next(nextCursor) };
  }
  const own = listOwn(view, cursor);
  if (!passing) return own;
  const { items, nextCursor } = await passedResources(asking, undefined);
  return { resources: [...own.resources, ...items], ...next(nextCursor) };
}

async function templates(
  asking: McpRequest,
  cursor: string | undefined,
): Promise<ListResourceTemplatesResult> {
  const own = cursor === undefined ? ownTemplates : [];
  if (asking.view.program?.resources !== true) return { resourceTemplates: [...own] };
  const { items, nextCursor } = await passedTemplates(asking, cursor?.slice(passedOn.length));
  return { resourceTemplates: [...own, ...items], ...next(nextCursor) };
}

async function read(asking: McpRequest, uri: string): Promise<ReadResourceResult | InputRequiredResult> {
  const own = await readOwn(asking.view, uri);
  if (own !== undefined) return own;
  if (asking.view.program?.resources === true) return await passedResource(asking, uri);
  throw new ResourceNotFoundError(uri);
}

function next(cursor: string | undefined): { nextCursor?: string } {
  return cursor === undefined ? {} : { nextCursor: `${passedOn}${cursor}` };
}
