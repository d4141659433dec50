import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";

export const CallRequest = Type.Object(
  {
    arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.callTimeoutMs.max,
        description: "How long to wait in all, in the queue and for the device",
      }),
    ),
  },
  { additionalProperties: false },
);
export type CallRequest = Static<typeof CallRequest>;

export const ToolResultBody = Type.Object({
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
