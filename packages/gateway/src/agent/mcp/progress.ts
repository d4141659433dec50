import type { ServerContext } from "@modelcontextprotocol/server";

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Reports progress of a request to its client; `undefined` if the client did not request it. */
export function progressTo({ mcpReq }: ServerContext): ((progress: Progress) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return ({ progress, total, message }) => {
    const params = {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    // Sending fails when the client is gone; its call is cancelled separately.
    void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
