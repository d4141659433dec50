import Type, { type Static } from "typebox";

export const eventTypes = [
  "device.online",
  "device.offline",
  "device.tools_changed",
  "device.notification",
  "device.pending",
  "device.approved",
  "device.revoked",
  "device.firmware",
  "firmware.halted",
  "call.queued",
  "call.finished",
  "call.late",
  "approval.requested",
  "approval.decided",
  "voice.started",
  "voice.ended",
  "audit.recorded",
  "webhook.disabled",
] as const;
export type EventType = (typeof eventTypes)[number];

export const GatewayEvent = Type.Object(
  {
    id: Type.String(),
    type: Type.Enum([...eventTypes]),
    at: Type.String({ format: "date-time" }),
    device: Type.Optional(Type.String()),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: "Event" },
);
export type GatewayEvent = Static<typeof GatewayEvent>;

export const EventQuery = Type.Object({
  device: Type.Optional(Type.String({ maxLength: 64 })),
  type: Type.Optional(
    Type.String({ maxLength: 256, description: "One type, or several separated by commas" }),
  ),
});
