import type { JsonObject } from "@tendon/protocol";

/** A tool as a voice server is shown it: what the board itself would say of it. */
export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** The firmware's own page: voice servers are built for pages of this size, and some for no larger ones. */
const pageBytes = 8_000;
const reservedBytes = 30;

/** [VOI-6] One page of the list; the cursor is the name of its first tool. `undefined` for a cursor that leads nowhere. */
export function toolPage(tools: readonly ShownTool[], cursor: string): JsonObject | undefined {
  const start = cursor === "" ? 0 : tools.findIndex(({ name }) => name === cursor);
  if (start < 0) return undefined;
  const page: ShownTool[] = [];
  let used = '{"tools":['.length + reservedBytes;
  for (const tool of tools.slice(start)) {
    used += Buffer.byteLength(JSON.stringify(tool)) + 1;
    // A tool that is larger than a page has one to itself: the firmware gives up there, and all after it are lost.
    if (used > pageBytes && page.length > 0) return { tools: page, nextCursor: tool.name };
    page.push(tool);
  }
  return { tools: page };
}
