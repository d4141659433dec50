import { CallCheck, CallReply, CallRequest, isObject, QueuedReply } from "@tendon/protocol";
import type { FastifyError, FastifyRequest } from "fastify";
import Type from "typebox";
import { queueRequestOf } from "../../calls/calls.ts";
import { TendonError } from "../../errors.ts";
import { asTendonError, failures, type Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { ClientDisconnect } from "./client-disconnect.ts";
import { IdempotencyHeaders, once, originOf } from "./route-parts.ts";

const ToolParams = Type.Object({
  device: Type.String({ description: "The device's id or alias" }),
  tool: Type.String({ description: "The tool's own name, such as self.audio_speaker.set_volume" }),
});

const CheckRequest = Type.Object(
  { arguments: CallRequest.properties.arguments },
  { additionalProperties: false },
);

export function callRoutes(http: Http, services: Services): void {
  http.post(
    "/devices/:device/tools/:tool/call",
    {
      // A tool without arguments may be called with no body at all.
      preValidation: (request, _reply, next) => {
        request.body ??= {};
        next();
      },
      schema: {
        operationId: "callTool",
        summary: "Call a tool and wait for its result",
        description:
          "If the tool itself reports an error, the reply is a 200 with `isError: true`. With `whenOffline: queue`, a call to a device that is offline is a 202: the gateway runs it when the device is next online, and `GET /calls/{callId}` shows its state.",
        tags: ["tools"],
        params: ToolParams,
        headers: IdempotencyHeaders,
        body: CallRequest,
        response: { 200: CallReply, 202: QueuedReply, ...failures },
      },
      errorHandler: hintAtArguments,
    },
    async (request, reply) => {
      const { device, tool } = request.params;
      const { arguments: args = {}, timeoutMs } = request.body;
      const answer = await once(services, request, (keyed) =>
        services.calls.callOrQueue(request.principal, device, tool, args, {
          timeoutMs,
          signal: keyed ? undefined : new ClientDisconnect(reply),
          origin: originOf(request),
          queue: queueRequestOf(request.body),
        }),
      );
      if ("expiresAt" in answer) reply.code(202);
      return answer;
    },
  );
  http.post(
    "/devices/:device/tools/:tool/check",
    {
      schema: {
        operationId: "checkCall",
        summary: "Check whether a call would be accepted, without making it",
        description:
          "Checks the token, the access rules and the arguments. If the call would be rejected, the reply is the same error. The device may be offline.",
        tags: ["tools"],
        params: ToolParams,
        body: CheckRequest,
        response: { 200: CallCheck, ...failures },
      },
      errorHandler: hintAtArguments,
    },
    (request) => {
      const { device, tool } = request.params;
      return services.calls.check(request.principal, device, tool, request.body.arguments ?? {});
    },
  );
}

/** A frequent mistake: the tool's arguments as the body itself. */
function hintAtArguments(error: FastifyError, request: FastifyRequest): never {
  const { body } = request;
  const unknown = error.validation?.some(({ keyword }) => keyword === "additionalProperties") === true;
  if (!unknown || !isObject(body) || body["arguments"] !== undefined) throw error;
  const { code, message, context } = asTendonError(error, request);
  const hint = 'send the arguments of the tool as `{"arguments":{…}}`';
  throw new TendonError(code, `${message}; ${hint}`, context, error);
}
