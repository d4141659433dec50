import Type, { type Static } from "typebox";

const Direction = Type.Object({
  packets: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  lost: Type.Integer({ minimum: 0, description: "Packets that did not arrive or could not be forwarded" }),
  jitterMs: Type.Number({
    description: "Jitter of the packets in ms, without the pauses between sentences",
  }),
});

export const VoiceSession = Type.Object({
  device: Type.String(),
  alias: Type.String(),
  transport: Type.String(),
  sessionId: Type.Union([Type.String(), Type.Null()], {
    description: "The device's session id at the gateway; null from a node of an older version",
  }),
  upstreamSessionId: Type.Union([Type.String(), Type.Null()], {
    description: "The session id at the voice server; null until it has answered",
  }),
  upstream: Type.String({ description: "The voice server's host" }),
  state: Type.Enum(["opening", "idle", "listening", "speaking", "ending"]),
  startedAt: Type.String({ format: "date-time" }),
  calls: Type.Integer({ minimum: 0, description: "Number of tool calls by the voice server" }),
  up: Type.Object({ ...Direction.properties }, { description: "From the device" }),
  down: Type.Object({ ...Direction.properties }, { description: "To the device" }),
});
export type VoiceSession = Static<typeof VoiceSession>;

export const VoiceSessionList = Type.Object({ sessions: Type.Array(VoiceSession) });
export type VoiceSessionList = Static<typeof VoiceSessionList>;
