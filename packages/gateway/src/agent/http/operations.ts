/** Liveness, readiness and metrics, for operators. */
import type { FastifyRequest } from "fastify";
import { requireEveryDevice, requireScope } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Events, Metrics } from "../../events/events.ts";
import type { HttpAuthentication } from "./authentication.ts";
import type { Http } from "./server.ts";

export interface OperationsDependencies {
  readonly metrics: Metrics;
  readonly events: Events;
  readonly authentication: HttpAuthentication;
  /** Each part that is not ready, with the reason. Served without a token, so the reasons contain no secrets. */
  readonly unready: () => Promise<Readonly<Record<string, string>>>;
  /** What needs attention although the gateway is ready, by part; public too. */
  readonly warnings: () => Readonly<Record<string, string>>;
  /** Sets the metrics that are measured when they are read. */
  readonly measure: (metrics: Metrics) => void;
}

/** Each part has a metric also while it is ready, so that a change is visible. */
const parts = ["gateway", "mqtt", "cluster", "storage"] as const;

export function operationRoutes(http: Http, dependencies: OperationsDependencies): void {
  const hidden = { schema: { hide: true } };
  http.get("/healthz", hidden, () => ({ status: "ok" }));
  http.get("/readyz", hidden, async (request, reply) => {
    const asked = partsOf(request);
    const unready = Object.fromEntries(
      Object.entries(await dependencies.unready()).filter(([part]) => asked.has(part)),
    );
    const problems = Object.entries(unready).map(([part, why]) => `${part}: ${why}`);
    const warnings = dependencies.warnings();
    const more = Object.keys(warnings).length === 0 ? {} : { warnings };
    if (problems.length === 0) return { status: "ready", ...more };
    reply.code(503);
    return { status: "unready", parts: unready, problems, ...more };
  });
  http.get("/metrics", hidden, async (request, reply) => {
    if (!isLoopback(request)) {
      const principal = dependencies.authentication.byToken(request);
      requireScope(principal, "read");
      requireEveryDevice(principal, "/metrics");
    }
    dependencies.events.settle();
    const { partUnready, contentType } = dependencies.metrics;
    dependencies.measure(dependencies.metrics);
    const unready = await dependencies.unready();
    for (const part of parts) partUnready.set({ part }, part in unready ? 1 : 0);
    reply.type(contentType);
    return await dependencies.metrics.text();
  });
}

/** `?part=gateway,mqtt` asks for these parts only. An engine that is away makes all nodes unready at once. */
function partsOf({ query }: FastifyRequest): ReadonlySet<string> {
  const { part } = query as { readonly part?: unknown };
  if (typeof part !== "string") return new Set(parts);
  const asked = part.split(",");
  const unknown = asked.find((each) => !parts.some((known) => known === each));
  if (unknown === undefined) return new Set(asked);
  throw new TendonError("bad_request", `\`part\` may be ${parts.join(", ")}, separated by commas`);
}

function isLoopback(request: FastifyRequest): boolean {
  return request.ip === "::1" || request.ip.startsWith("127.") || request.ip.startsWith("::ffff:127.");
}
