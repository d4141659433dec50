import type { ServerContext } from "@modelcontextprotocol/server";

/**
 * When nobody waits for a request any more: it was cancelled, its session ended, or the connection that waits for the
 * answer is gone [SRV-7].
 */
export function givenUp({ mcpReq }: ServerContext): AbortSignal {
  return mcpReq.signal;
}
