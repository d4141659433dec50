/** The voice server that boards talk to through this gateway: where it is, for which boards, and how to sign in. */
import { voiceLimits } from "@tendon/protocol";
import Type from "typebox";

const strict = { additionalProperties: false };

const VoiceUpstream = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        pattern: "^wss?://[^/]+",
        description: "The voice server's WebSocket address; with `signIn: ota` the one it gives is used",
      }),
    ),
    device: Type.Optional(Type.String({ minLength: 1, description: "For this device only, by id or alias" })),
    tag: Type.Optional(Type.String({ minLength: 1, description: "For devices with this tag only" })),
    signIn: Type.Optional(
      Type.Enum(["device", "token", "ota"], {
        description:
          "`device` (default): with the board's own identity; `token`: with a fixed token; `ota`: with the settings that the OTA address gives for the board",
      }),
    ),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The fixed token; better in a file, or in `TENDON_VOICE_TOKEN`",
      }),
    ),
    tokenFile: Type.Optional(Type.String({ minLength: 1, description: "A file that holds the fixed token" })),
    ota: Type.Optional(
      Type.String({ pattern: "^https?://[^/]+", description: "The voice server's own OTA address" }),
    ),
    framing: Type.Optional(
      Type.Enum([1, 2, 3], {
        description: "How audio of boards over MQTT is framed on its way to the voice server; `1` by default",
      }),
    ),
    vision: Type.Optional(
      Type.Enum(["upstream", "here"], {
        description:
          "Who explains the photos that the voice server asks for: itself (upstream, default) or this gateway",
      }),
    ),
  },
  strict,
);

export const VoiceSchema = Type.Object(
  {
    upstream: Type.Array(VoiceUpstream, {
      default: [],
      maxItems: voiceLimits.upstreams.max,
      description:
        "The voice server boards talk to: one address, or a list in which `device` and `tag` say for whom; without any, boards are for tools only",
      page: "guides/voice.md",
    }),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The fixed token of upstreams with `signIn: token`; best from `TENDON_VOICE_TOKEN`",
      }),
    ),
    keepTexts: Type.Boolean({
      default: false,
      description: "Keep what is said, as text, among the frames that the console shows of a device",
    }),
    udpPort: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 8884,
      description:
        "UDP port for the audio of boards over MQTT, opened where there is a voice server; 0 picks a free one",
    }),
  },
  strict,
);

/** `upstream: ws://…` and a single entry mean a list of one. */
export function asUpstreamList(value: unknown): unknown {
  if (typeof value === "string") return [{ url: value }];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? [value] : value;
}
