import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";

export type Response = ServerResponse<IncomingMessage>;
export type Handle = (request: IncomingMessage, response: Response) => void;

/** Puts a step before the server's only request listener. */
export function standBefore(server: Server, stepTo: (next: Handle) => Handle): void {
  const [listener] = server.listeners("request") as RequestListener[];
  if (listener === undefined) throw new TypeError("the server has no listener for requests");
  const step = stepTo(listener.bind(server));
  server.removeAllListeners("request");
  server.on("request", step);
}

/** Says of each thing whether it is to be logged: at most one a second, because a flood must not fill the log. */
export function onePerSecond(clock: Clock): () => boolean {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    const isDue = now - loggedAt >= 1_000;
    if (isDue) loggedAt = now;
    return isDue;
  };
}
