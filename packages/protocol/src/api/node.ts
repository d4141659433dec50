import Type, { type Static } from "typebox";

export const NodeList = Type.Object(
  {
    nodes: Type.Array(
      Type.Object({
        id: Type.String({ description: "One run of one process" }),
        name: Type.String({ description: "The machine's name" }),
        self: Type.Boolean({ description: "The one that answers" }),
        version: Type.String(),
        startedAt: Type.String({ format: "date-time" }),
        devices: Type.Integer({ description: "Connected there" }),
        draining: Type.Boolean({ description: "It is stopping and takes no new devices" }),
      }),
    ),
    engines: Type.Object({
      storage: Type.Object({ kind: Type.String(), connected: Type.Boolean() }),
      cluster: Type.Union([
        Type.Object({ server: Type.String(), connected: Type.Boolean() }),
        Type.Null({ description: "One gateway by itself" }),
      ]),
    }),
  },
  { $id: "NodeList" },
);
export type NodeList = Static<typeof NodeList>;
