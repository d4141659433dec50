import Type, { type Static } from "typebox";

const Time = Type.String({ format: "date-time", description: "ISO 8601, UTC" });
const TimeOrNull = Type.Union([Time, Type.Null()]);
const states = ["waiting", "approved", "denied", "consumed", "expired"] as const;

export const ApprovalQuery = Type.Object({
  state: Type.Optional(
    Type.Enum([...states], { description: "Only approvals in this state; all by default" }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 256 })),
});
export type ApprovalQuery = Static<typeof ApprovalQuery>;

export const ApprovalView = Type.Object(
  {
    id: Type.String(),
    state: Type.Enum([...states]),
    device: Type.Union([Type.String(), Type.Null()], { description: "Null for a call to many devices" }),
    target: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "The devices of a fan-out call",
      }),
    ),
    tool: Type.String(),
    arguments: Type.Record(Type.String(), Type.Unknown()),
    principal: Type.String({ description: "Who asks" }),
    reason: Type.Optional(Type.String({ description: "The reason from the access rule" })),
    askedAt: Time,
    expiresAt: Type.String({ format: "date-time", description: "When the request or the approval expires" }),
    decidedAt: TimeOrNull,
    decidedBy: Type.Union([Type.String(), Type.Null()]),
    consumedAt: TimeOrNull,
  },
  { $id: "Approval" },
);
export type ApprovalView = Static<typeof ApprovalView>;

export const ApprovalList = Type.Object({
  approvals: Type.Array(ApprovalView),
  nextCursor: Type.Optional(Type.String()),
});
export type ApprovalList = Static<typeof ApprovalList>;
