import Type, { type Static } from "typebox";

const Time = Type.String({ format: "date-time" });
const OrNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

export const FrameList = Type.Object({
  frames: Type.Array(
    Type.Object({
      at: Time,
      way: Type.Enum(["in", "out"], { description: "in: from the device" }),
      length: Type.Integer({ description: "Length of the whole frame; the text may be truncated" }),
      text: Type.String(),
      callId: Type.Optional(Type.String({ description: "The call whose request or reply it is" })),
      notUnderstood: Type.Optional(
        Type.String({ description: "Why Tendon did not understand the frame; absent if it did" }),
      ),
    }),
  ),
});
export type FrameList = Static<typeof FrameList>;

export const FrameQuery = Type.Object({
  call: Type.Optional(Type.String({ maxLength: 64, description: "Only the frames of this call" })),
});

const Range = Type.Enum(["15m", "1h", "24h"]);
export type OverviewRange = Static<typeof Range>;

export const OverviewQuery = Type.Object({ range: Type.Optional(Range) });

const Milliseconds = OrNull(Type.Number({ description: "Null if there were no calls" }));

export const OverviewView = Type.Object(
  {
    range: Range,
    from: Time,
    since: Type.String({
      format: "date-time",
      description:
        "Calls are counted from this time on. It is later than `from` if the history does not reach back that far or is too long to read",
    }),
    stepMs: Type.Integer(),
    online: Type.Integer({ description: "Devices connected now" }),
    calls: Type.Integer(),
    failed: Type.Integer(),
    p50: Milliseconds,
    p95: Milliseconds,
    p99: Milliseconds,
    points: Type.Array(
      Type.Object({
        at: Time,
        online: OrNull(Type.Integer({ description: "Null before this gateway started" })),
        calls: Type.Integer(),
        failed: Type.Integer(),
        p50: Milliseconds,
        p95: Milliseconds,
      }),
      { description: "Only the steps with activity" },
    ),
    failures: Type.Array(Type.Object({ reason: Type.String(), count: Type.Integer() })),
    slowest: Type.Array(
      Type.Object({ tool: Type.String(), calls: Type.Integer(), failed: Type.Integer(), p95: Type.Number() }),
      { description: "The slowest tools of the range, counted in steps of five minutes" },
    ),
  },
  { $id: "Overview" },
);
export type OverviewView = Static<typeof OverviewView>;

export const DemoDevice = Type.Object({ id: Type.String() });
export type DemoDevice = Static<typeof DemoDevice>;
