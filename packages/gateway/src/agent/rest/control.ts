import { ControlRequest, ControlResponse, decodeControl, isErrorCode } from "@tendon/protocol";
import type { FastifyError } from "fastify";
import { errorKinds, TendonError } from "../../errors.ts";
import { asTendonError, failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { disconnectSignal } from "./client-disconnect.ts";
import { DeviceParams, IdempotencyHeaders, onceSent, originOf } from "./route-parts.ts";

/** Errors that are found before the action is read. Their reply has the same shape as that of a failed action. */
const answeredAsControl: ReadonlySet<string> = new Set(["bad_request", "payload_too_large", "conflict"]);

/** Errors of the token, the address and the gateway are problem documents, as in every route. */
function failed(status: keyof typeof failures) {
  const { description, content } = failures[status];
  return { description, content: { "application/json": { schema: ControlResponse }, ...content } };
}

export function controlRoutes(http: Http, services: Services): void {
  http.post(
    "/devices/:device/control",
    {
      schema: {
        operationId: "controlDevice",
        summary: "Run a device_control action or function call",
        description:
          "Success is a 200; 202 if `whenOffline: queue` made it wait for its device. A failure has the same body with `ok: false`, `code`, `title` and `detail`, and the status of that code. An unknown action is a 400 `action_unknown` with the `known` ones, and is in the call history under its name.",
        tags: ["control"],
        params: DeviceParams,
        headers: IdempotencyHeaders,
        body: ControlRequest,
        response: { 200: ControlResponse, 202: ControlResponse, "4xx": failed("4xx"), "5xx": failed("5xx") },
      },
      errorHandler(error: FastifyError, request, reply) {
        const known = asTendonError(error, request);
        if (!answeredAsControl.has(known.code)) throw error;
        const decoded = error.validation === undefined ? undefined : decodeControl(request.body);
        // The same text as over MQTT.
        const answered =
          decoded?.outcome === "invalid"
            ? new TendonError(known.code, decoded.reason, known.context, error)
            : known;
        void reply.code(known.kind.status).send(services.control.refuse(request.body, answered));
      },
    },
    async (request, reply) => {
      const decoded = decodeControl(request.body);
      if (decoded.outcome !== "ok") {
        throw new TendonError(
          "bad_request",
          decoded.outcome === "invalid" ? decoded.reason : "the message is not a device_control message",
        );
      }
      const answer = await onceSent(
        services,
        request,
        (keyed) =>
          services.control.run(request.principal, request.params.device, decoded.message, {
            signal: keyed ? undefined : disconnectSignal(reply),
            origin: originOf(request),
          }),
        (done) => done.ok || (done as { sent?: unknown }).sent === true,
      );
      if (answer.code !== undefined && isErrorCode(answer.code)) reply.code(errorKinds[answer.code].status);
      if (answer.state === "queued") reply.code(202);
      return answer;
    },
  );
}
