import Type, { type Static } from "typebox";

/** RFC 9457. Programs branch on `code`; `detail` says what happened this time. */
export const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String(),
    detail: Type.String(),
    retryable: Type.Optional(Type.Boolean()),
    errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    phase: Type.Optional(Type.Enum(["queue", "device"])),
    sent: Type.Optional(Type.Boolean()),
    approvalId: Type.Optional(Type.String({ description: "What a person has to approve first" })),
    retryAfterMs: Type.Optional(Type.Number({ description: "How long to wait, where that is known" })),
  },
  { $id: "Problem", additionalProperties: true },
);
export type Problem = Static<typeof Problem>;
