/** Settings of the voice server that boards talk to through this gateway: its address, its boards and its sign-in. */
import { voiceLimits } from "@tendon/protocol";
import Type from "typebox";

const strict = { additionalProperties: false };

const VoiceUpstream = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        pattern: "^wss?://[^/]+",
        description: "The voice server's WebSocket address; with `signIn: ota` its OTA address returns it",
      }),
    ),
    device: Type.Optional(Type.String({ minLength: 1, description: "For this device only, by id or alias" })),
    tag: Type.Optional(Type.String({ minLength: 1, description: "For devices with this tag only" })),
    signIn: Type.Optional(
      Type.Enum(["device", "token", "ota"], {
        description:
          "`device` (default): the board's own identity; `token`: a fixed token; `ota`: the settings that the voice server's OTA address returns for the board",
      }),
    ),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The fixed token; preferably in a file, or in `TENDON_VOICE_TOKEN`",
      }),
    ),
    tokenFile: Type.Optional(Type.String({ minLength: 1, description: "A file with the fixed token" })),
    ota: Type.Optional(
      Type.String({ pattern: "^https?://[^/]+", description: "The voice server's own OTA address" }),
    ),
    framing: Type.Optional(
      Type.Enum([1, 2, 3], {
        description: "Framing of audio to the voice server, for boards over MQTT; `1` by default",
      }),
    ),
    vision: Type.Optional(
      Type.Enum(["upstream", "here"], {
        description:
          "Where photos that the voice server requests are described: by its own vision address (`upstream`, default) or by this gateway (`here`)",
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
        "The voice server of boards: one address, or a list with `device` and `tag`; without one, boards offer tools only",
      page: "guides/voice.md",
    }),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "The fixed token of upstreams with `signIn: token`; preferably from `TENDON_VOICE_TOKEN`",
      }),
    ),
    keepTexts: Type.Boolean({
      default: false,
      description: "Include the texts of conversations in the frames that the console shows",
    }),
    udpPort: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 8884,
      description:
        "UDP port for the audio of boards over MQTT, opened if there is a voice server; 0 selects a free port",
    }),
  },
  strict,
);

/** `upstream: ws://…` and a single entry mean a list of one. */
export function asUpstreamList(value: unknown): unknown {
  if (typeof value === "string") return [{ url: value }];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? [value] : value;
}
