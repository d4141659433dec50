import Type, { type Static } from "typebox";

export const NodeList = Type.Object(
  {
    nodes: Type.Array(
      Type.Object({
        id: Type.String({ description: "Identifies one run of the process" }),
        name: Type.String({ description: "The node's name" }),
        self: Type.Boolean({ description: "Whether this node answers the request" }),
        version: Type.String(),
        startedAt: Type.String({ format: "date-time" }),
        devices: Type.Integer({ description: "Connected there" }),
        moving: Type.Integer({ description: "Boards that it is sending to other nodes to even them out" }),
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

export const NodeBalanceList = Type.Object(
  {
    nodes: Type.Array(
      Type.Object({
        id: Type.String({ description: "Identifies one run of the process" }),
        name: Type.String({ description: "The node's name" }),
        devices: Type.Integer({ description: "Connected there now" }),
        target: Type.Integer({ description: "The share of each node" }),
        moving: Type.Integer({ description: "Boards that it sends to other nodes now" }),
      }),
    ),
  },
  { $id: "NodeBalanceList" },
);
export type NodeBalanceList = Static<typeof NodeBalanceList>;
