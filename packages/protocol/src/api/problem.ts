import Type, { type Static } from "typebox";

/** A problem document (RFC 9457). Programs branch on `code`; `detail` describes this occurrence. */
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
    approvalId: Type.Optional(Type.String({ description: "The approval that the call requires" })),
    retryAfterMs: Type.Optional(Type.Number({ description: "How long to wait, if known" })),
  },
  { $id: "Problem", additionalProperties: true },
);
export type Problem = Static<typeof Problem>;
