/** The JSON-lines protocol of the simulated home and of other programs: one message per line. */
import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";

/** Returned unchanged in the reply. */
export const LineId = Type.Union([Type.Number(), Type.String({ maxLength: limits.lineIdLength.max })]);
export type LineId = Static<typeof LineId>;

const JsonRecord = Type.Record(Type.String(), Type.Unknown());

/** The server's first message. Each tool is checked separately later, so that an invalid one does not affect the others. */
export const ReadyLine = Type.Object({
  type: Type.Literal("ready"),
  version: Type.Optional(Type.String({ maxLength: 64 })),
  tools: Type.Array(Type.Unknown(), { maxItems: limits.toolsPerDevice.max }),
});
export type ReadyLine = Static<typeof ReadyLine>;

/** `ok` is redundant to `type`, so it is optional. */
export const ResultLine = Type.Object({
  type: Type.Literal("result"),
  id: LineId,
  ok: Type.Optional(Type.Literal(true)),
  result: Type.Unknown(),
});
export type ResultLine = Static<typeof ResultLine>;

/** Without an id it belongs to no call: the line could not be parsed. */
export const ErrorLine = Type.Object({
  type: Type.Literal("error"),
  id: Type.Union([LineId, Type.Null()]),
  ok: Type.Optional(Type.Literal(false)),
  error: Type.String(),
});
export type ErrorLine = Static<typeof ErrorLine>;

/** An event. Sent only to a client that requested events when it started the process. */
export const EventLine = Type.Object({
  type: Type.Literal("event"),
  event: Type.String({ minLength: 1, maxLength: limits.lineEventNameLength.max }),
  data: Type.Optional(JsonRecord),
});
export type EventLine = Static<typeof EventLine>;

export type ServerLine = ReadyLine | ResultLine | ErrorLine | EventLine;
