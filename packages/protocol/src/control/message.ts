import Type, { type Static } from "typebox";
import { QueueOptions } from "../api/queue.ts";
import { limits } from "../limits.ts";
import { type Decoded, invalid, isObject, ok } from "../outcome.ts";
import { compileCheck } from "../schema-check.ts";

const controlType = "device_control";
const RequestId = Type.Union([Type.String({ minLength: 1, maxLength: 128 }), Type.Number()]);

/** [CTL-1] A request of an app: an action or command with its fields, or a function call. Other fields are ignored. */
export const ControlRequest = Type.Object(
  {
    type: Type.Optional(Type.Literal(controlType)),
    action: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    command: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: "Another name for `action`" }),
    ),
    arguments: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          "The fields of the action, as an alternative to fields of the message, which have precedence",
      }),
    ),
    function_call: Type.Optional(
      Type.Object({
        name: Type.String({ minLength: 1, maxLength: 128 }),
        arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      }),
    ),
    request_id: Type.Optional(RequestId),
    session_id: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          "Over MQTT, on the topic `tendon/control`: the device of this session. Not used if the topic or the path names the device",
      }),
    ),
    device: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Over MQTT, on the topic `tendon/control`: the device's id or alias",
      }),
    ),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.callTimeoutMs.max })),
    ...QueueOptions,
  },
  { additionalProperties: true },
);
export type ControlRequest = Static<typeof ControlRequest>;

/** Fields of a message that are never arguments of an action. */
export const messageFields: ReadonlySet<string> = new Set([
  ...Object.keys(ControlRequest.properties),
  "timestamp",
]);

/** [CTL-4] The reply. A failure has the error's code, title and detail beside `ok: false`. */
export const ControlResponse = Type.Object(
  {
    type: Type.Literal("device_control_response"),
    request_id: RequestId,
    action: Type.Optional(Type.String()),
    function: Type.Optional(Type.String()),
    tools: Type.Array(Type.String(), { description: "The device's tools that were called, in order" }),
    ok: Type.Boolean(),
    result: Type.Optional(Type.Unknown()),
    state: Type.Optional(
      Type.Literal("queued", { description: "The action waits until the device is online" }),
    ),
    callId: Type.Optional(Type.String({ description: "For a queued action" })),
    expiresAt: Type.Optional(Type.String({ format: "date-time", description: "Until when it may wait" })),
    code: Type.Optional(Type.String()),
    title: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
    retryable: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: true },
);
export type ControlResponse = Static<typeof ControlResponse>;

const check = compileCheck(ControlRequest);
const requestId = compileCheck(RequestId);

/** Whether a request id can be returned in a reply: text of a reasonable length, or a number. */
export function isRequestId(value: unknown): value is string | number {
  return requestId.fits(value);
}

export function decodeControl(value: unknown): Decoded<ControlRequest> {
  if (!isObject(value)) return invalid("the message is not an object");
  if (value["type"] !== undefined && value["type"] !== controlType) return invalid(wrongType(value["type"]));
  if (!check.fits(value)) return invalid(check.whyNot(value));
  const asks = [value.action ?? value.command, value.function_call].filter((ask) => ask !== undefined);
  if (asks.length === 1) return ok(value);
  return invalid(
    asks.length === 0
      ? "neither `action` nor `function_call` is given"
      : "both `action` and `function_call` are given",
  );
}

function wrongType(type: unknown): string {
  const rule = `/type must be \`${controlType}\` or absent`;
  if (typeof type !== "string") return rule;
  const hint = type === "mcp" ? "; send JSON-RPC with `POST /api/v1/devices/{device}/mcp`" : "";
  return `${rule}, not \`${type.slice(0, 64)}\`${hint}`;
}
