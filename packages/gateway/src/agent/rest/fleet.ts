import {
  CallHistory,
  CallQuery,
  CallTrace,
  FleetCallRequest,
  FleetReply,
  Job,
  type JsonObject,
  limits,
} from "@tendon/protocol";
import Type from "typebox";
import { valueWithoutSecrets } from "../console/console.ts";
import type { Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { hangUpSignal } from "./hang-up.ts";
import { failures, IdempotencyHeaders, onceSent } from "./route-parts.ts";

export function fleetRoutes(http: Http, services: Services): void {
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
      const answer = await onceSent(
        services,
        request,
        (keyed) =>
          services.fanOut.call(request.principal, target, {
            tool,
            args,
            options: { timeoutMs, signal: keyed ? undefined : hangUpSignal(reply) },
          }),
        (done) =>
          "job" in done ||
          done.results.some(
            ({ error }) => error === undefined || (error as { sent?: unknown }).sent === true,
          ),
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
    (request) => services.history.list(request.principal, request.query),
  );
  http.get(
    "/calls/:id",
    {
      schema: {
        summary: "One call from being asked to its end",
        description:
          "Arguments, the failure's words and late answers are kept in memory for the last calls; secrets are masked.",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 200: CallTrace, ...failures },
      },
    },
    async (request) =>
      withMaskedArguments(await services.history.trace(request.principal, request.params.id)),
  );
  http.get(
    "/jobs/:id",
    {
      schema: {
        summary: "How far a job is, with its results",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: limits.jobIdLength.max }) }),
        response: { 200: Job, ...failures },
      },
    },
    (request) => services.fanOut.job(request.principal, request.params.id),
  );
}

function withMaskedArguments(trace: CallTrace): CallTrace {
  // Safe: an object stays one.
  return { ...trace, arguments: valueWithoutSecrets(trace.arguments) as JsonObject | null };
}
