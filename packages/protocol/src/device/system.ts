import Type, { type Static } from "typebox";

const sessionId = Type.Optional(Type.String({ maxLength: 256 }));

/** The only command the firmware knows is `reboot`; others are logged there and do nothing. */
export const System = Type.Object({
  type: Type.Literal("system"),
  session_id: sessionId,
  command: Type.String({ maxLength: 64 }),
});
export type System = Static<typeof System>;

/** [DEV-22] Shown to the person in front of the device, with a sound. All three texts must be there. */
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

/** [DEV-23] Ends an audio session over MQTT, by matching id only. Over WebSocket the firmware does not know it. */
export const Goodbye = Type.Object({ type: Type.Literal("goodbye"), session_id: sessionId });
export type Goodbye = Static<typeof Goodbye>;
