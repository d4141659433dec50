import Type, { type Static } from "typebox";

const Direction = Type.Object({
  packets: Type.Integer({ minimum: 0 }),
  bytes: Type.Integer({ minimum: 0 }),
  lost: Type.Integer({ minimum: 0, description: "Packets that did not come, or could not be passed on" }),
  jitterMs: Type.Number({
    description: "How unevenly packets come, in ms; pauses between sentences left out",
  }),
});

export const VoiceSession = Type.Object({
  device: Type.String(),
  alias: Type.String(),
  transport: Type.String(),
  upstream: Type.String({ description: "The voice server's host" }),
  state: Type.Enum(["opening", "idle", "listening", "speaking", "ending"]),
  startedAt: Type.String({ format: "date-time" }),
  calls: Type.Integer({ minimum: 0, description: "Tools the voice server has called" }),
  up: Type.Object({ ...Direction.properties }, { description: "From the device" }),
  down: Type.Object({ ...Direction.properties }, { description: "To the device" }),
});
export type VoiceSession = Static<typeof VoiceSession>;

export const VoiceSessionList = Type.Object({ sessions: Type.Array(VoiceSession) });
export type VoiceSessionList = Static<typeof VoiceSessionList>;
