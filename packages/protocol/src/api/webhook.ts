import Type, { type Static } from "typebox";
import { webhookLimits } from "../webhook-limits.ts";
import { eventTypes } from "./event.ts";

const Devices = Type.Object(
  {
    ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 10_000,
        description: "Ids; aliases are replaced by ids",
      }),
    ),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 100 })),
  },
  {
    additionalProperties: false,
    description: "Only events of these devices. Events without a device are left out then",
  },
);

const Url = Type.String({
  minLength: 1,
  maxLength: webhookLimits.urlLength.max,
  description: "The receiver: https, or a host in `webhooks.allowHosts`",
});

const Name = Type.String({ minLength: 1, maxLength: 64, description: "For people; the host by default" });

const Types = Type.Array(Type.String({ maxLength: 64, pattern: "^(\\*|[a-z_]+\\.(\\*|[a-z_]+))$" }), {
  minItems: 1,
  maxItems: eventTypes.length,
  description: "Event types, such as `call.finished` or `device.*`; all types by default",
});

const Time = Type.String({ format: "date-time" });

export const WebhookRequest = Type.Object(
  {
    url: Url,
    types: Type.Optional(Types),
    devices: Type.Optional(Devices),
    name: Type.Optional(Name),
  },
  { additionalProperties: false },
);
export type WebhookRequest = Static<typeof WebhookRequest>;

export const WebhookChange = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Types),
    devices: Type.Optional(
      Type.Union([Devices, Type.Null()], { description: "`null` removes the limit to devices" }),
    ),
    name: Type.Optional(Name),
    enabled: Type.Optional(
      Type.Boolean({ description: "`true` resumes at the stored position; `false` pauses the deliveries" }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type WebhookChange = Static<typeof WebhookChange>;

const webhookFields = {
  id: Type.String(),
  name: Type.String(),
  url: Type.String(),
  types: Type.Array(Type.String()),
  devices: Type.Optional(Devices),
  enabled: Type.Boolean(),
  state: Type.Enum(["ok", "failing", "disabled"], {
    description: "`failing`: the last delivery failed, and the gateway retries",
  }),
  disabledReason: Type.Optional(Type.String({ description: "Why the gateway or a person disabled it" })),
  createdAt: Time,
  createdBy: Type.String(),
  pending: Type.Integer({ description: "Events that wait for delivery" }),
  lastDeliveredAt: Type.Optional(Time),
  failingSince: Type.Optional(Time),
  nextAttemptAt: Type.Optional(Time),
  lastFailure: Type.Optional(
    Type.Object({
      at: Time,
      status: Type.Optional(Type.Integer({ description: "The HTTP status, if there was a reply" })),
      error: Type.String(),
    }),
  ),
  oldSecretUntil: Type.Optional(
    Type.String({ format: "date-time", description: "Until then, the secret before the rotation signs too" }),
  ),
};

export const WebhookView = Type.Object(webhookFields, { $id: "Webhook" });
export type WebhookView = Static<typeof WebhookView>;

export const WebhookList = Type.Object({ webhooks: Type.Array(WebhookView) });
export type WebhookList = Static<typeof WebhookList>;

export const NewWebhook = Type.Object({
  ...webhookFields,
  secret: Type.String({ description: "`whsec_…`, shown only once" }),
});
export type NewWebhook = Static<typeof NewWebhook>;

export const WebhookTestResult = Type.Object({
  ok: Type.Boolean({ description: "Whether the receiver answered with a 2xx status" }),
  id: Type.String({ description: "The `webhook-id` of the test" }),
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.String()),
  durationMs: Type.Integer(),
});
export type WebhookTestResult = Static<typeof WebhookTestResult>;

export const DeliveryQuery = Type.Object({
  state: Type.Optional(Type.Enum(["pending", "delivered"])),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: "100 by default" })),
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
});
export type DeliveryQuery = Static<typeof DeliveryQuery>;

const WebhookDelivery = Type.Object(
  {
    id: Type.String({ description: "The `webhook-id` header; the same for every attempt" }),
    type: Type.String(),
    at: Type.String({ format: "date-time", description: "The time of the event" }),
    device: Type.Optional(Type.String()),
    state: Type.Enum(["pending", "delivered"]),
    attempts: Type.Integer(),
    attemptedAt: Type.Optional(Time),
    status: Type.Optional(Type.Integer({ description: "The HTTP status of the last attempt" })),
    error: Type.Optional(Type.String({ description: "Why the last attempt failed" })),
    durationMs: Type.Optional(Type.Integer()),
  },
  { $id: "WebhookDelivery" },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const DeliveryList = Type.Object({
  deliveries: Type.Array(WebhookDelivery),
  nextCursor: Type.Optional(Type.String()),
});
export type DeliveryList = Static<typeof DeliveryList>;

export const ReplayRequest = Type.Object(
  {
    since: Type.String({
      format: "date-time",
      description: "Events from this time on are delivered again; at most the last 24 hours are kept",
    }),
  },
  { additionalProperties: false },
);

export const ReplayResult = Type.Object({
  replayed: Type.Integer({ description: "Events that are delivered again" }),
});
export type ReplayResult = Static<typeof ReplayResult>;
