import Type, { type Static } from "typebox";

export const NodeList = Type.Object(
  {
    nodes: Type.Array(
      Type.Object({
        id: Type.String({ description: "Identifies one run of the process" }),
        name: Type.String({ description: "The machine's name" }),
        self: Type.Boolean({ description: "Whether this node answers the request" }),
        version: Type.String(),
        startedAt: Type.String({ format: "date-time" }),
        devices: Type.Integer({ description: "Connected there" }),
        draining: Type.Boolean({ description: "Whether it is stopping and accepts no new devices" }),
      }),
    ),
    engines: Type.Object({
      storage: Type.Object({ kind: Type.String(), connected: Type.Boolean() }),
      cluster: Type.Union([
        Type.Object({ server: Type.String(), connected: Type.Boolean() }),
        Type.Null({ description: "Null for a single gateway" }),
      ]),
    }),
  },
  { $id: "NodeList" },
);
export type NodeList = Static<typeof NodeList>;
