import type { FastifyReply } from "fastify";

/** Aborts when the caller hangs up before its answer is written: nobody waits for a device on its behalf any more. */
export function hangUpSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
