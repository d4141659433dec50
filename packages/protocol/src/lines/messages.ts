/** The JSON-lines protocol of the simulated home, and of any process that speaks it: one message a line. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";

/** Given back exactly as it came. */
export const LineId = Type.Union([Type.Number(), Type.String({ maxLength: limits.lineIdLength.max })]);
export type LineId = Static<typeof LineId>;

const JsonRecord = Type.Record(Type.String(), Type.Unknown());

/** The server speaks first. Each tool is looked at by itself later: a bad one must not take the others with it. */
export const ReadyLine = Type.Object({
  type: Type.Literal("ready"),
  version: Type.Optional(Type.String({ maxLength: 64 })),
  tools: Type.Array(Type.Unknown(), { maxItems: limits.toolsPerDevice.max }),
});
export type ReadyLine = Static<typeof ReadyLine>;

/** `ok` says nothing that `type` does not; a server that leaves it out is understood. */
export const ResultLine = Type.Object({
  type: Type.Literal("result"),
  id: LineId,
  ok: Type.Optional(Type.Literal(true)),
  result: Type.Unknown(),
});
export type ResultLine = Static<typeof ResultLine>;

/** Without an id it belongs to no call: the line could not be read. */
export const ErrorLine = Type.Object({
  type: Type.Literal("error"),
  id: Type.Union([LineId, Type.Null()]),
  ok: Type.Optional(Type.Literal(false)),
  error: Type.String(),
});
export type ErrorLine = Static<typeof ErrorLine>;

/** Something happened. Sent only to a client that asked for it when it started the process. */
export const EventLine = Type.Object({
  type: Type.Literal("event"),
  event: Type.String({ minLength: 1, maxLength: limits.lineEventNameLength.max }),
  data: Type.Optional(JsonRecord),
});
export type EventLine = Static<typeof EventLine>;

export type ServerLine = ReadyLine | ResultLine | ErrorLine | EventLine;
