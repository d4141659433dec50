import Type, { type Static } from "typebox";

/** The audio parameters of either side. The firmware reads only `sample_rate` and `frame_duration`. */
const AudioParams = Type.Object({
  format: Type.Optional(Type.String({ maxLength: 32 })),
  sample_rate: Type.Optional(Type.Number()),
  channels: Type.Optional(Type.Number()),
  frame_duration: Type.Optional(Type.Number()),
});

/** [DEV-3] The device's first text frame. Only `type` is required, because old firmware omits most fields. */
export const DeviceHello = Type.Object({
  type: Type.Literal("hello"),
  version: Type.Optional(Type.Number()),
  transport: Type.Optional(Type.String({ maxLength: 32 })),
  features: Type.Optional(Type.Object({ mcp: Type.Optional(Type.Unknown()) })),
  audio_params: Type.Optional(AudioParams),
});
export type DeviceHello = Static<typeof DeviceHello>;

/** Where an MQTT device sends its audio, with the session's AES-128 key and nonce. */
const UdpAddress = Type.Object({
  server: Type.String(),
  port: Type.Integer({ minimum: 1, maximum: 65535 }),
  key: Type.String({ pattern: "^[0-9a-f]{32}$" }),
  nonce: Type.String({ pattern: "^01[0-9a-f]{30}$" }),
});

/**
 * [DEV-4] The gateway's answer. Without a text in `transport` the firmware crashes. The device inserts `session_id`
 * unescaped into everything it sends, so it has only characters that JSON does not escape.
 */
export const ServerHello = Type.Object({
  type: Type.Literal("hello"),
  transport: Type.Enum(["websocket", "udp", "mqtt"]),
  session_id: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$" }),
  audio_params: Type.Object({
    format: Type.String(),
    sample_rate: Type.Number(),
    channels: Type.Number(),
    frame_duration: Type.Number(),
  }),
  udp: Type.Optional(UdpAddress),
});
export type ServerHello = Static<typeof ServerHello>;

/** [DEV-5] The gateway uses MCP only with a device whose `mcp` is exactly `true`. */
export function speaksMcp(hello: DeviceHello): boolean {
  return hello.features?.mcp === true;
}
