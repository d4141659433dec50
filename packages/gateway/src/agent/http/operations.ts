/** For operators: is it alive, is it ready, what does it count. */
import type { FastifyRequest } from "fastify";
import { requireScope } from "../../access/access.ts";
import type { Events, Metrics } from "../../events/events.ts";
import type { HttpAuthentication } from "./authentication.ts";
import type { Http } from "./server.ts";

export interface OperationsNeeds {
  readonly metrics: Metrics;
  readonly events: Events;
  readonly authentication: HttpAuthentication;
  /** Empty when ready; otherwise each part that is not, with the reason. Anybody may ask: nothing of it is secret. */
  readonly unready: () => Promise<Readonly<Record<string, string>>>;
}

/** Each has a line among the metrics also while it is ready, so that its end can be seen. */
const parts = ["gateway", "mqtt", "cluster", "storage"] as const;

export function operationRoutes(http: Http, needs: OperationsNeeds): void {
  const hidden = { schema: { hide: true } };
  http.get("/healthz", hidden, () => ({ status: "ok" }));
  http.get("/readyz", hidden, async (_request, reply) => {
    const unready = await needs.unready();
    const problems = Object.entries(unready).map(([part, why]) => `${part}: ${why}`);
    if (problems.length === 0) return { status: "ready" };
    reply.code(503);
    return { status: "unready", parts: unready, problems };
  });
  http.get("/metrics", hidden, async (request, reply) => {
    if (!isLoopback(request)) requireScope(needs.authentication.byToken(request), "read");
    needs.events.settle();
    const { partUnready, contentType } = needs.metrics;
    const unready = await needs.unready();
    for (const part of parts) partUnready.set({ part }, part in unready ? 1 : 0);
    reply.type(contentType);
    return await needs.metrics.text();
  });
}

function isLoopback(request: FastifyRequest): boolean {
  return request.ip === "::1" || request.ip.startsWith("127.") || request.ip.startsWith("::ffff:127.");
}
