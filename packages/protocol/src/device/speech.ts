import Type, { type Static } from "typebox";

const sessionId = Type.Optional(Type.String({ maxLength: 256 }));
const text = Type.String({ maxLength: 8192 });

/** [DEV-20] The device starts or stops listening, or detected its wake word. */
export const Listen = Type.Object({
  type: Type.Literal("listen"),
  session_id: sessionId,
  state: Type.Enum(["start", "stop", "detect"]),
  mode: Type.Optional(Type.Enum(["auto", "manual", "realtime"])),
  text: Type.Optional(text),
});
export type Listen = Static<typeof Listen>;

/** [DEV-21] The person interrupted. The device stays in the state "speaking" until it receives `tts` `stop`. */
export const Abort = Type.Object({
  type: Type.Literal("abort"),
  session_id: sessionId,
  reason: Type.Optional(Type.String({ maxLength: 128 })),
});
export type Abort = Static<typeof Abort>;

export const Tts = Type.Object({
  type: Type.Literal("tts"),
  session_id: sessionId,
  state: Type.Enum(["start", "stop", "sentence_start"]),
  text: Type.Optional(text),
});
export type Tts = Static<typeof Tts>;

export const Stt = Type.Object({ type: Type.Literal("stt"), session_id: sessionId, text });
export type Stt = Static<typeof Stt>;

export const Llm = Type.Object({
  type: Type.Literal("llm"),
  session_id: sessionId,
  emotion: Type.String({ maxLength: 64 }),
  text: Type.Optional(text),
});
export type Llm = Static<typeof Llm>;
