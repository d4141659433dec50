import {
  CallHistory,
  CallQuery,
  CallTrace,
  FleetCallRequest,
  FleetReply,
  Job,
  limits,
  QueuedCalls,
  RunningCalls,
} from "@tendon/protocol";
import Type from "typebox";
import { queueRequestOf } from "../../calls/calls.ts";
import { TendonError } from "../../errors.ts";
import { failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { disconnectSignal } from "./client-disconnect.ts";
import { type Export, exportable, exportFormat, sendExport } from "./export.ts";
import { IdempotencyHeaders, onceSent, originOf } from "./route-parts.ts";

const callColumns: Export<CallHistory["calls"][number]>["columns"] = {
  callId: ({ callId }) => callId,
  at: ({ at }) => at,
  device: ({ device }) => device,
  tool: ({ tool }) => tool,
  principal: ({ principal }) => principal,
  outcome: ({ outcome }) => outcome,
  queuedMs: ({ queuedMs }) => queuedMs,
  durationMs: ({ durationMs }) => durationMs,
  argumentDigest: ({ argumentDigest }) => argumentDigest,
  arguments: ({ arguments: args }) => args,
  approval: ({ approval }) => approval,
  asker: ({ asker }) => asker,
};

export function fleetRoutes(http: Http, services: Services): void {
  http.post(
    "/calls",
    {
      schema: {
        operationId: "callMany",
        summary: "Call one tool on many devices",
        description:
          "The reply has a result for each device. A call to more than 500 devices becomes a job, which runs in the background. With `whenOffline: queue`, so does a call of which any device is offline: the job ends when all its calls have run or expired.",
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
            options: {
              timeoutMs,
              signal: keyed ? undefined : disconnectSignal(reply),
              origin: originOf(request),
              queue: queueRequestOf(request.body),
            },
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
        operationId: "listCalls",
        summary: "The call history, newest first",
        description:
          "`Accept: text/csv` or `application/x-ndjson` returns all matching calls as a file. `state=queued` returns the calls that wait for their device instead, oldest first.",
        tags: ["tools"],
        querystring: CallQuery,
        response: { 200: exportable(Type.Union([CallHistory, QueuedCalls])), ...failures },
      },
    },
    async (request, reply) => {
      const { principal, query } = request;
      if (query.state === "queued") return await services.history.queued(principal, query);
      const format = exportFormat(request.headers.accept);
      if (format === undefined) return await services.history.list(principal, query);
      return await sendExport(reply, format, {
        name: "tendon-calls",
        columns: callColumns,
        async page(position) {
          const { cursor: _from, ...filter } = query;
          const { calls, nextCursor } = await services.history.list(principal, { ...filter, ...position });
          return { rows: calls, nextCursor };
        },
      });
    },
  );
  http.get(
    "/calls/running",
    {
      schema: {
        operationId: "listRunningCalls",
        summary: "The calls that have not ended, oldest first",
        tags: ["tools"],
        response: { 200: RunningCalls, ...failures },
      },
    },
    (request) => services.history.running(request.principal),
  );
  http.get(
    "/calls/:id/picture",
    {
      schema: {
        operationId: "getCallPicture",
        summary: "The photo that a call took",
        description: "Available while the gateway stores the photo: for an hour by default.",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: {
          200: {
            description: "The photo",
            content: { "image/*": { schema: Type.Unsafe<Buffer>({ type: "string", format: "binary" }) } },
          },
          ...failures,
        },
      },
    },
    async (request, reply) => {
      const { device } = await services.history.trace(request.principal, request.params.id);
      const photo = await services.photos.ofCall(device, request.params.id);
      if (photo === undefined) throw new TendonError("not_found", "no photo of this call is stored");
      await reply
        .type(photo.mimeType)
        .header("cache-control", "private, max-age=3600")
        .header("content-disposition", "inline")
        .send(Buffer.from(photo.data, "base64"));
    },
  );
  http.get(
    "/calls/:id",
    {
      schema: {
        operationId: "getCall",
        summary: "One call with its trace",
        description:
          "Arguments, the answer, error details and late answers are available for recent calls only, because the gateway keeps them in memory. Secrets are masked. The answer of a user-only tool needs the scope `call:user`.",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 200: CallTrace, ...failures },
      },
    },
    (request) => services.history.trace(request.principal, request.params.id),
  );
  http.delete(
    "/calls/:id",
    {
      schema: {
        operationId: "cancelCall",
        summary: "Cancel a queued call",
        description:
          "For the token that asked, or one with the scope `admin`. A call that runs or has ended is a 409 `conflict`.",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: 64 }) }),
        response: { 200: CallTrace, ...failures },
      },
    },
    (request) => services.history.cancel(request.principal, request.params.id),
  );
  http.get(
    "/jobs/:id",
    {
      schema: {
        operationId: "getJob",
        summary: "The progress of a job, with its results",
        tags: ["tools"],
        params: Type.Object({ id: Type.String({ maxLength: limits.jobIdLength.max }) }),
        response: { 200: Job, ...failures },
      },
    },
    (request) => services.fanOut.job(request.principal, request.params.id),
  );
}
