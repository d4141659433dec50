import Type, { type Static } from "typebox";

const sessionId = Type.Optional(Type.String({ maxLength: 256 }));

/** The firmware supports only `reboot`; it logs and ignores other commands. */
export const System = Type.Object({
  type: Type.Literal("system"),
  session_id: sessionId,
  command: Type.String({ maxLength: 64 }),
});
export type System = Static<typeof System>;

/** [DEV-22] Shown on the device with a sound. All three texts are required. */
export const Alert = Type.Object({
  type: Type.Literal("alert"),
  session_id: sessionId,
  status: Type.String({ maxLength: 256 }),
  message: Type.String({ maxLength: 1024 }),
  emotion: Type.String({ maxLength: 64 }),
});
export type Alert = Static<typeof Alert>;

export const Custom = Type.Object({
  type: Type.Literal("custom"),
  session_id: sessionId,
  payload: Type.Record(Type.String(), Type.Unknown()),
});
export type Custom = Static<typeof Custom>;

/** [DEV-23] Ends the MQTT audio session with this id. Over WebSocket the firmware does not support it. */
export const Goodbye = Type.Object({ type: Type.Literal("goodbye"), session_id: sessionId });
export type Goodbye = Static<typeof Goodbye>;
