/**
 * MCP resources: state, events and photos of devices, and at the address of an MCP program also its own. Subscribers are
 * notified of changes.
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
import type { McpRequest } from "../tool-request.ts";
import { listOwn, ownTemplates, readOwn } from "./own-resources.ts";
import { programResource, programResources, programTemplates } from "./program-passthrough.ts";
import type { Subscriptions } from "./subscriptions.ts";

export { programCompletion, programPrompt, programPrompts } from "./program-passthrough.ts";
export { Subscriptions } from "./subscriptions.ts";

/** Prefix of a cursor that the program made. */
const programCursor = "device:";

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

async function list(request: McpRequest, cursor: string | undefined): Promise<ListResourcesResult> {
  const { view } = request;
  const passing = view.program?.resources === true;
  if (cursor?.startsWith(programCursor) === true && passing) {
    const { items, nextCursor } = await programResources(request, cursor.slice(programCursor.length));
    return { resources: items, ...next(nextCursor) };
  }
  const own = listOwn(view, cursor);
  if (!passing) return own;
  const { items, nextCursor } = await programResources(request, undefined);
  return { resources: [...own.resources, ...items], ...next(nextCursor) };
}

async function templates(
  request: McpRequest,
  cursor: string | undefined,
): Promise<ListResourceTemplatesResult> {
  const own = cursor === undefined ? ownTemplates : [];
  if (request.view.program?.resources !== true) return { resourceTemplates: [...own] };
  const { items, nextCursor } = await programTemplates(request, cursor?.slice(programCursor.length));
  return { resourceTemplates: [...own, ...items], ...next(nextCursor) };
}

async function read(request: McpRequest, uri: string): Promise<ReadResourceResult | InputRequiredResult> {
  const own = await readOwn(request.view, uri);
  if (own !== undefined) return own;
  if (request.view.program?.resources === true) return await programResource(request, uri);
  throw new ResourceNotFoundError(uri);
}

function next(cursor: string | undefined): { nextCursor?: string } {
  return cursor === undefined ? {} : { nextCursor: `${programCursor}${cursor}` };
}
