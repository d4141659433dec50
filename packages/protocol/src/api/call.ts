import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";

export const CallRequest = Type.Object(
  {
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.callTimeoutMs.max,
        description: "Total time to wait, in the queue and for the device",
      }),
    ),
  },
  { additionalProperties: false },
);
export type CallRequest = Static<typeof CallRequest>;

export const FunctionCallRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 128, description: "The exposed name of the function" }),
    ...CallRequest.properties,
    arguments: Type.Optional(
      Type.Union([
        Type.Record(Type.String(), Type.Unknown()),
        Type.String({ description: "The arguments as a JSON text, as OpenAI's API returns them" }),
      ]),
    ),
  },
  { additionalProperties: false },
);
export type FunctionCallRequest = Static<typeof FunctionCallRequest>;

const ToolResultBody = Type.Object({
  content: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  isError: Type.Boolean(),
  structuredContent: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

export const CallReply = Type.Object(
  {
    callId: Type.String(),
    device: Type.String(),
    tool: Type.String(),
    result: ToolResultBody,
    queuedMs: Type.Number(),
    durationMs: Type.Number(),
  },
  { $id: "CallReply" },
);
export type CallReply = Static<typeof CallReply>;

/** The reply has `device` and `tool` for a device's tool, but not for the gateway's own tools such as `tools_search`. */
export const FunctionReply = Type.Object(
  { name: Type.String(), ...Type.Partial(CallReply).properties, result: ToolResultBody },
  { $id: "FunctionReply" },
);
export type FunctionReply = Static<typeof FunctionReply>;

export const CallQuery = Type.Object({
  device: Type.Optional(Type.String({ maxLength: 64, description: "Id or alias" })),
  tool: Type.Optional(Type.String({ maxLength: 128 })),
  principal: Type.Optional(Type.String({ maxLength: 128 })),
  outcome: Type.Optional(Type.String({ maxLength: 64, description: "ok, tool_error or an error code" })),
  since: Type.Optional(Type.String({ format: "date-time", description: "ISO 8601" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 256 })),
});
export type CallQuery = Static<typeof CallQuery>;

const PastCall = Type.Object({
  callId: Type.String(),
  at: Type.String({ format: "date-time", description: "When it ended, successfully or not" }),
  device: Type.String(),
  tool: Type.String({ description: "The tool, or the name of an unknown device_control action" }),
  principal: Type.String(),
  outcome: Type.String(),
  queuedMs: Type.Number(),
  durationMs: Type.Number(),
  argumentDigest: Type.String({ description: "SHA-256 of the arguments as JSON" }),
  arguments: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "The arguments, only with `calls.keepArguments` and up to 16 KiB",
    }),
  ),
  approval: Type.Optional(
    Type.String({
      description: "The id of its approval, or `elicited` if the person at the client allowed it",
    }),
  ),
});

const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);
const Time = Type.String({ format: "date-time" });

/** The trace of one call. Fields that only the memory keeps are null once they are dropped. */
export const CallTrace = Type.Object(
  {
    ...PastCall.properties,
    askedAt: Time,
    sentAt: OrNull(Time),
    arguments: OrNull(Type.Record(Type.String(), Type.Unknown())),
    detail: OrNull(Type.String({ description: "The detail of the error" })),
    approval: OrNull(Type.String({ description: "The id of its approval" })),
    late: OrNull(Type.Object({ at: Time, lateMs: Type.Number(), failed: Type.Boolean() })),
  },
  { $id: "CallTrace" },
);
export type CallTrace = Static<typeof CallTrace>;

export const CallHistory = Type.Object({
  calls: Type.Array(PastCall),
  nextCursor: Type.Optional(Type.String()),
});
export type CallHistory = Static<typeof CallHistory>;

export const RpcRequestBody = Type.Object({
  jsonrpc: Type.Literal("2.0"),
  id: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Null()])),
  method: Type.String({ minLength: 1, maxLength: 256 }),
  params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type RpcRequestBody = Static<typeof RpcRequestBody>;

export const RpcReplyBody = Type.Object({
  jsonrpc: Type.Literal("2.0"),
  id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(
    Type.Object({
      code: Type.Integer(),
      message: Type.String(),
      data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
  ),
});
export type RpcReplyBody = Static<typeof RpcReplyBody>;

const CallSettings = {
  arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.callTimeoutMs.max })),
};

export const FleetTarget = Type.Object(
  {
    all: Type.Optional(Type.Literal(true)),
    tag: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    devices: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: limits.fanOutTargets.max,
      }),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    description: "Exactly one of all, tag, devices",
  },
);
export type FleetTarget = Static<typeof FleetTarget>;

export const FleetCallRequest = Type.Object(
  { target: FleetTarget, tool: Type.String({ minLength: 1, maxLength: 256 }), ...CallSettings },
  { additionalProperties: false },
);

export const FleetResult = Type.Object({
  device: Type.String(),
  ok: Type.Boolean({ description: "False for an error and for a result with isError" }),
  result: Type.Optional(ToolResultBody),
  error: Type.Optional(
    Type.Object({ code: Type.String(), detail: Type.String() }, { additionalProperties: true }),
  ),
  durationMs: Type.Number(),
});
export type FleetResult = Static<typeof FleetResult>;

export const FleetReply = Type.Object({
  results: Type.Array(FleetResult),
  ok: Type.Integer(),
  failed: Type.Integer(),
});
export type FleetReply = Static<typeof FleetReply>;

export const Job = Type.Object({
  id: Type.String(),
  state: Type.Enum(["running", "done"]),
  total: Type.Integer(),
  results: Type.Array(FleetResult),
  ok: Type.Integer(),
  failed: Type.Integer(),
});
export type Job = Static<typeof Job>;
