import type { Bound } from "./limits.ts";

const KIB = 1024;

/** Bounds on webhooks: their number, what is sent, and what is read of the reply. */
export const webhookLimits = {
  webhooks: { max: 100, error: "conflict", reason: "each stores its own copy of the events that match it" },
  urlLength: { max: 2_048, error: "bad_request", reason: "longer addresses fail in many proxies" },
  bodyBytes: {
    max: 20 * KIB,
    error: "payload_too_large",
    reason: "Standard Webhooks recommends small bodies; larger fields are left out",
  },
  answerMs: {
    max: 15_000,
    error: "device_timeout",
    reason: "Standard Webhooks recommends 15 to 30 s for a receiver to answer",
  },
  answerBytes: {
    max: 64 * KIB,
    error: "payload_too_large",
    reason: "only the status counts; the connection closes instead of reading more",
  },
} as const satisfies Record<string, Bound>;
