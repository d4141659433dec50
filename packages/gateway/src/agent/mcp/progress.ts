import type { ServerContext } from "@modelcontextprotocol/server";

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Tells the caller how far its request is; `undefined` where it did not ask to be told. */
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
    // Whoever hung up is not told; its call ends by itself.
    void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
