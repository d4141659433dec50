/** For operators: is it alive, is it ready, what does it count. */
import type { FastifyRequest } from "fastify";
import type { Events } from "../events.ts";
import type { Metrics } from "../metrics.ts";
import { requireScope } from "../registry/registry.ts";
import { authenticate, type IdentifyToken } from "./authentication.ts";
import type { Http } from "./http.ts";

export interface OperationsNeeds {
  readonly metrics: Metrics;
  readonly events: Events;
  readonly identify: IdentifyToken;
  /** Empty when ready; otherwise each part that is not, with the reason. Anybody may ask: nothing of it is secret. */
  readonly unready: () => Promise<Readonly<Record<string, string>>>;
}

export function operationRoutes(http: Http, needs: OperationsNeeds): void {
  const hidden = { schema: { hide: true } };
  http.get("/healthz", hidden, () => ({ status: "ok" }));
  http.get("/readyz", hidden, async (_request, reply) => {
    const parts = await needs.unready();
    const problems = Object.entries(parts).map(([part, why]) => `${part}: ${why}`);
    if (problems.length === 0) return { status: "ready" };
    reply.code(503);
    return { status: "unready", parts, problems };
  });
  http.get("/metrics", hidden, async (request, reply) => {
    if (!isLoopback(request)) requireScope(authenticate(request, needs.identify, needs.events), "read");
    reply.type(needs.metrics.registry.contentType);
    return await needs.metrics.registry.metrics();
  });
}

function isLoopback(request: FastifyRequest): boolean {
  return request.ip === "::1" || request.ip.startsWith("127.") || request.ip.startsWith("::ffff:127.");
}
