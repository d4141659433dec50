import Type, { type Static } from "typebox";

const SettingView = Type.Object({
  name: Type.String({ description: "Such as `http.port`" }),
  value: Type.Unknown({ description: "The value of this run, with secrets hidden; null if it is not set" }),
  description: Type.String({ description: "What it does" }),
  source: Type.Enum(["default", "file", "environment", "command"]),
  place: Type.Optional(Type.String({ description: "The line of the file, or the name of the variable" })),
});
export type SettingView = Static<typeof SettingView>;

export const SettingList = Type.Object({ settings: Type.Array(SettingView) });
export type SettingList = Static<typeof SettingList>;
