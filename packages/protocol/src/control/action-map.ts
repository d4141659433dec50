/**
 * device_control actions as data [CTL-1…4]: their function, their tool and arguments, and how they are composed of other
 * tools if the device has no tool of its own.
 */
import Type, { type Static } from "typebox";

const strict = { additionalProperties: false };
export const actionNamePattern = "^[A-Za-z0-9_.-]{1,64}$";
const Name = Type.String({ pattern: actionNamePattern });
const ToolName = Type.String({ minLength: 1, maxLength: 128 });

/** One argument of an action: its fields in the message, and its type and range. */
export const ActionArgument = Type.Object(
  {
    type: Type.Enum(["integer", "boolean", "string"]),
    minimum: Type.Optional(Type.Integer()),
    maximum: Type.Optional(Type.Integer()),
    required: Type.Optional(Type.Boolean({ description: "False unless said" })),
    aliases: Type.Optional(Type.Array(Name, { description: "Other fields it may come in" })),
  },
  strict,
);
export type ActionArgument = Static<typeof ActionArgument>;

/** A value of the device, with the tools that read and write it. */
const Level = {
  read: Type.Object(
    {
      tool: ToolName,
      path: Type.String({ minLength: 1, maxLength: 128, description: "Dotted path in its answer" }),
    },
    strict,
  ),
  write: Type.Object({ tool: ToolName, argument: Name }, strict),
};

const Adjust = Type.Object(
  {
    ...Level,
    by: Type.Object(
      { argument: Name, default: Type.Integer({ minimum: 0 }), direction: Type.Enum(["up", "down"]) },
      strict,
    ),
    minimum: Type.Integer(),
    maximum: Type.Integer(),
  },
  { ...strict, description: "Read, step up or down within the bounds, write" },
);
export type Adjust = Static<typeof Adjust>;

const Mute = Type.Object(
  { ...Level, to: Type.Integer() },
  { ...strict, description: "Remember the level, then write" },
);
export type Mute = Static<typeof Mute>;

const Unmute = Type.Object({ write: Level.write }, { ...strict, description: "Write the remembered level" });
export type Unmute = Static<typeof Unmute>;

/** Exactly one of these. Not a union, because the schema checker would report every alternative. */
const Composition = Type.Object(
  { adjust: Type.Optional(Adjust), mute: Type.Optional(Mute), unmute: Type.Optional(Unmute) },
  { ...strict, minProperties: 1, maxProperties: 1 },
);
export type Composition = Static<typeof Composition>;

/** Where a field of the structured result comes from. Exactly one of these; see `Composition`. */
const ResultField = Type.Object(
  {
    path: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: "Dotted path in the tool's answer" }),
    ),
    argument: Type.Optional({ ...Name, description: "An argument that the tool was called with" }),
  },
  { ...strict, minProperties: 1, maxProperties: 1 },
);
export type ResultField = Static<typeof ResultField>;

export const Action = Type.Object(
  {
    function: Type.Optional(Name),
    tool: ToolName,
    arguments: Type.Optional(Type.Record(Name, ActionArgument, strict)),
    aliases: Type.Optional(Type.Array(Name, { description: "Other names of the action" })),
    compose: Type.Optional(Composition),
    result: Type.Optional(
      Type.Record(Name, ResultField, { ...strict, description: "Fields added to the structured result" }),
    ),
  },
  strict,
);
export type Action = Static<typeof Action>;

export const ActionMap = Type.Record(Name, Action, strict);
export type ActionMap = Static<typeof ActionMap>;

const volume = {
  read: { tool: "self.get_device_status", path: "audio_speaker.volume" },
  write: { tool: "self.audio_speaker.set_volume", argument: "volume" },
} as const;

const step: Record<string, ActionArgument> = {
  step: { type: "integer", minimum: 0, maximum: 100, aliases: ["value"] },
};

function volumeStep(direction: "up" | "down"): Composition {
  return {
    adjust: { ...volume, by: { argument: "step", default: 10, direction }, minimum: 0, maximum: 100 },
  };
}

/** The six actions that existing apps use. */
export const defaultActions: ActionMap = {
  set_volume: {
    function: "self_set_volume",
    tool: "self.audio_speaker.set_volume",
    arguments: { volume: { type: "integer", minimum: 0, maximum: 100, required: true, aliases: ["value"] } },
    result: { volume: { argument: "volume" } },
  },
  volume_up: {
    function: "self_volume_up",
    tool: "self.audio_speaker.volume_up",
    arguments: step,
    compose: volumeStep("up"),
  },
  volume_down: {
    function: "self_volume_down",
    tool: "self.audio_speaker.volume_down",
    arguments: step,
    compose: volumeStep("down"),
  },
  get_volume: {
    function: "self_get_volume",
    tool: "self.get_device_status",
    result: { volume: { path: volume.read.path } },
  },
  mute: { function: "self_mute", tool: "self.audio_speaker.mute", compose: { mute: { ...volume, to: 0 } } },
  unmute: {
    function: "self_unmute",
    tool: "self.audio_speaker.unmute",
    compose: { unmute: { write: volume.write } },
  },
};
