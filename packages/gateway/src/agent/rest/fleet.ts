import { CallHistory, CallQuery, FleetCallRequest, FleetReply, Job } from "@tendon/protocol";
import Type from "typebox";
import type { Registry } from "../../registry/registry.ts";
import type { Http } from "../http.ts";
import { hangUpSignal } from "./hang-up.ts";
import { failures, IdempotencyHeaders, once } from "./route-parts.ts";

export function fleetRoutes(http: Http, registry: Registry): void {
  http.post(
    "/calls",
    {
      schema: {
        summary: "Call one tool on many devices",
        description: "Up to 500 targets are waited for; more become a job. Each device has its own result.",
        tags: ["tools"],
        headers: IdempotencyHeaders,
        body: FleetCallRequest,
        response: { 200: FleetReply, 202: Type.Object({ job: Type.String() }), ...failures },
      },
    },
    async (request, reply) => {
      const { target, tool, arguments: args = {}, timeoutMs } = request.body;
      const answer = await once(registry, request, (keyed) =>
        registry.fleet.call(request.principal, target, {
          tool,
          args,
          options: { timeoutMs, signal: keyed ? undefined : hangUpSignal(reply) },
        }),
      );
      if ("job" in answer) reply.code(202);
      return answer;
    },
  );
  http.get(
    "/calls",
    {
      schema: {
        summary: "What was called, newest first",
        tags: ["tools"],
        querystring: CallQuery,
        response: { 200: CallHistory, ...failures },
      },
    },
    (request) => registry.history(request.principal, request.query),
  );
  http.get(
    "/jobs/:id",
    {
      schema: {
        summary: "How far a job is, with its results",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 200: Job, ...failures },
      },
    },
    (request) => registry.fleet.job(request.principal, request.params.id),
  );
}
