import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { QueueOptions } from "./queue.ts";

const TimeoutMs = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: limits.callTimeoutMs.max,
    description:
      "Total time to wait, in the queue and for the device. For a queued call it starts when the device is online",
  }),
);

export const CallRequest = Type.Object(
  {
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    timeoutMs: TimeoutMs,
    ...QueueOptions,
  },
  { additionalProperties: false },
);
export type CallRequest = Static<typeof CallRequest>;

/** The decision about a call that is not made. */
export const CallCheck = Type.Object(
  {
    access: Type.Enum(["allowed", "confirm"], { description: "confirm: the call would need an approval" }),
    reason: Type.Optional(Type.String({ description: "Why a rule requires the approval" })),
  },
  { $id: "CallCheck" },
);
export type CallCheck = Static<typeof CallCheck>;

export const FunctionCallRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 128, description: "The exposed name of the function" }),
    timeoutMs: TimeoutMs,
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
  state: Type.Optional(
    Type.Enum(["finished", "queued"], {
      description: "finished (default): the history · queued: the calls that wait for their device",
    }),
  ),
  device: Type.Optional(Type.String({ maxLength: 64, description: "Id or alias" })),
  tool: Type.Optional(Type.String({ maxLength: 128 })),
  principal: Type.Optional(Type.String({ maxLength: 128 })),
  outcome: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        "ok, tool_error, an error code, or for queued calls also expired, cancelled, superseded, refused",
    }),
  ),
  since: Type.Optional(Type.String({ format: "date-time", description: "ISO 8601" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 256 })),
  automatic: Type.Optional(
    Type.Boolean({
      description:
        "`false` leaves out the status reads that open console pages make automatically. Their principal is `console:NAME`",
    }),
  ),
  preview: Type.Optional(
    Type.Boolean({ description: "`true` adds the arguments and answers of recent calls in short" }),
  ),
});
export type CallQuery = Static<typeof CallQuery>;

/** A short form for lists, while the gateway keeps the call in memory. */
const Preview = Type.Object(
  {
    arguments: Type.Optional(Type.String({ description: "`volume: 20`, with secrets masked" })),
    answer: Type.Optional(
      Type.String({ description: "The first text of the answer, or the error's detail" }),
    ),
    picture: Type.Optional(Type.Literal(true, { description: "The answer has a picture" })),
  },
  { description: "Arguments and answer in short, only for recent calls and if requested" },
);

const CallAsker = Type.Object(
  {
    device: Type.Optional(
      Type.String({ description: "The device of this gateway that has the serial number" }),
    ),
    serialNumber: Type.Optional(Type.String()),
    clientId: Type.Optional(Type.String({ description: "Its first characters only: it is a secret" })),
    agentId: Type.Optional(Type.String()),
  },
  { description: "What a voice agent says about the board that it talks with" },
);
export type CallAsker = Static<typeof CallAsker>;

const PastCall = Type.Object({
  callId: Type.String(),
  at: Type.String({ format: "date-time", description: "When it ended, successfully or not" }),
  device: Type.String(),
  tool: Type.String({ description: "The tool, or the name of an unknown device_control action" }),
  principal: Type.String(),
  outcome: Type.String(),
  queuedMs: Type.Number(),
  durationMs: Type.Number(),
  argumentDigest: Type.String({
    description:
      "HMAC-SHA-256 of the arguments as JSON, with a key of the gateway: equal arguments have equal digests",
  }),
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
  asker: Type.Optional(CallAsker),
  preview: Type.Optional(Preview),
});

const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);
const Time = Type.String({ format: "date-time" });

/** A call that waits until its device is online. */
const QueuedCall = Type.Object(
  {
    callId: Type.String(),
    device: Type.String(),
    tool: Type.String(),
    principal: Type.String(),
    state: Type.Literal("queued"),
    askedAt: Time,
    expiresAt: Time,
    supersedeKey: Type.Optional(Type.String()),
    job: Type.Optional(Type.String({ description: "The job that it belongs to" })),
    asker: Type.Optional(CallAsker),
    preview: Type.Optional(Preview),
  },
  { $id: "QueuedCall" },
);

const Phase = Type.Enum(["away", "checks", "queue", "device", "picture"], {
  description:
    "away: it waits until the device is online · checks: access, approval and arguments · queue: other calls of the device run first · device: sent, no answer yet · picture: the device has uploaded its picture",
});
export type CallPhase = Static<typeof Phase>;

export const CallOrigin = Type.Object({
  via: Type.Enum(["rest", "console", "mcp", "mqtt", "voice", "endpoint"], {
    description:
      "The interface of the caller. voice: the voice server of the device itself. endpoint: a voice agent, over an MCP endpoint",
  }),
  client: Type.Optional(Type.String({ description: "The client program, as it names itself" })),
  address: Type.Optional(
    Type.String({ description: "The client's network address, for administrators only" }),
  ),
  automatic: Type.Optional(Type.Boolean({ description: "An open console page made the call automatically" })),
  request: Type.Optional(Type.String({ description: "The console page's own id of its request" })),
  asker: Type.Optional(CallAsker),
});
export type CallOrigin = Static<typeof CallOrigin>;

/** A call that has not ended. */
const RunningCall = Type.Object(
  {
    callId: Type.String(),
    device: Type.String(),
    tool: Type.String(),
    principal: Type.String(),
    state: Type.Literal("running"),
    askedAt: Time,
    elapsedMs: Type.Number(),
    phase: Phase,
    origin: OrNull(CallOrigin),
    preview: Type.Optional(Preview),
  },
  { $id: "RunningCall" },
);

export const RunningCalls = Type.Object({ calls: Type.Array(RunningCall) });
export type RunningCalls = Static<typeof RunningCalls>;

const { preview: _preview, asker: _asker, ...pastCall } = PastCall.properties;

/** The trace of one call. Fields that only the memory keeps are null once they are dropped. */
export const CallTrace = Type.Object(
  {
    ...pastCall,
    state: Type.Enum(["queued", "running", "finished"]),
    phase: OrNull(Phase),
    at: OrNull(Type.String({ format: "date-time", description: "When it ended; null before that" })),
    outcome: OrNull(
      Type.String({
        description:
          "Null before it has ended. A queued call can also end as expired, cancelled, superseded or refused",
      }),
    ),
    durationMs: Type.Number({
      description:
        "Until now while it runs. For a queued call without the time that it waited for its device",
    }),
    askedAt: Time,
    expiresAt: OrNull(
      Type.String({ format: "date-time", description: "Until when a queued call may wait; null for others" }),
    ),
    startedAt: OrNull(
      Type.String({ format: "date-time", description: "When a queued call started to run; null for others" }),
    ),
    allowedAt: OrNull(Time),
    sentAt: OrNull(Time),
    arguments: OrNull(Type.Record(Type.String(), Type.Unknown())),
    problems: OrNull(
      Type.Array(
        Type.Object({ path: Type.String({ description: "A JSON pointer" }), message: Type.String() }),
        { description: "The arguments that the gateway rejected" },
      ),
    ),
    answer: OrNull(
      Type.Object(
        {
          ...ToolResultBody.properties,
          cut: Type.Boolean({ description: "A part of the answer was too long and is missing" }),
        },
        { description: "The answer, with secrets masked and without pictures" },
      ),
    ),
    picture: Type.Boolean({ description: "`GET /calls/{id}/picture` returns the photo that the call took" }),
    origin: OrNull(CallOrigin),
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

export const QueuedCalls = Type.Object({
  calls: Type.Array(QueuedCall),
  nextCursor: Type.Optional(Type.String()),
});
export type QueuedCalls = Static<typeof QueuedCalls>;

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
  {
    target: FleetTarget,
    tool: Type.String({ minLength: 1, maxLength: 256 }),
    ...CallRequest.properties,
  },
  { additionalProperties: false },
);

export const FleetResult = Type.Object({
  device: Type.String(),
  ok: Type.Boolean({
    description: "False for an error, for a result with isError, and for a call that has not ended",
  }),
  callId: Type.Optional(Type.String({ description: "For a queued call" })),
  state: Type.Optional(
    Type.Enum(["queued", "running", "finished"], { description: "The state of a queued call" }),
  ),
  expiresAt: Type.Optional(Type.String({ format: "date-time", description: "Until when it may wait" })),
  result: Type.Optional(ToolResultBody),
  error: Type.Optional(
    Type.Object(
      {
        code: Type.String(),
        detail: Type.String(),
        retryable: Type.Optional(Type.Boolean({ description: "Whether the same call may succeed later" })),
      },
      { additionalProperties: true },
    ),
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
  queued: Type.Integer({ description: "Calls that wait for their device" }),
});
export type Job = Static<typeof Job>;
