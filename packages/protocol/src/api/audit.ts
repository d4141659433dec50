import Type, { type Static } from "typebox";
import { isObject } from "../outcome.ts";

export const AuditQuery = Type.Object({
  since: Type.Optional(Type.String({ format: "date-time", description: "ISO 8601" })),
  principal: Type.Optional(Type.String({ maxLength: 128, description: "The name of a token, or `admin`" })),
  action: Type.Optional(Type.String({ maxLength: 64, description: "Such as `token.create`" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
});
export type AuditQuery = Static<typeof AuditQuery>;

const AuditEntryView = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: "date-time" }),
    principal: Type.String({ description: "The name of the token, `admin` or `gateway`" }),
    principalId: Type.Optional(
      Type.String({
        description: "The id of the token, `admin` or `gateway`. Entries of earlier versions have none",
      }),
    ),
    action: Type.String(),
    target: Type.Object({
      type: Type.String({
        description: "token, device, tool, approval, firmware, webhook, session or gateway",
      }),
      id: Type.String(),
      name: Type.String(),
    }),
    from: Type.String({ description: "The address that the request came from" }),
    detail: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: "AuditEntry" },
);

export const AuditList = Type.Object({
  entries: Type.Array(AuditEntryView),
  nextCursor: Type.Optional(Type.String()),
});
export type AuditList = Static<typeof AuditList>;

/** Whether this is the data of an `audit.recorded` event about the device. */
export function isAuditOf(device: string, data: unknown): boolean {
  const target = isObject(data) ? data["target"] : undefined;
  return isObject(target) && target["type"] === "device" && target["id"] === device;
}
