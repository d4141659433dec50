import type { Bound } from "./limits.ts";

const KIB = 1024;

/** Bounds on photo uploads, and on the answers that boards can read. */
export const visionLimits = {
  pictureBytes: {
    max: 4 * 1024 * KIB,
    error: "payload_too_large",
    reason: "a board's JPEG has 20 to 300 KB; the largest sensor in use makes about 2 MB",
  },
  pictureSide: {
    max: 16_384,
    error: "bad_request",
    reason: "far above any board's camera; a larger image is made to exhaust its decoder",
  },
  questionBytes: {
    max: 4 * KIB,
    error: "payload_too_large",
    reason: "a question, not a document; the board received it in a message of at most 8 KB",
  },
  parts: { max: 4, error: "bad_request", reason: "the firmware sends two" },
  partHeaders: { max: 16, error: "bad_request", reason: "the firmware sends two for a part" },
  bodyBytes: {
    max: 8 * 1024 * KIB,
    error: "payload_too_large",
    reason:
      "a body that is too large is still read up to this size, because a disconnected board would not get the error",
  },
  uploadMs: {
    max: 30_000,
    error: "device_timeout",
    reason: "the caller waits 75 s for the photo, the upload and the explanation together",
  },
  uploadsAtOnce: {
    max: 128,
    error: "rate_limited",
    reason: "each keeps an image in memory; a fan-out calls this many devices at a time",
  },
  openTickets: {
    max: 10_000,
    error: "rate_limited",
    reason: "one for each running call of a camera",
  },
  ticketMs: {
    max: 300_000,
    error: "unauthenticated",
    reason: "no call lasts longer; a ticket that was not closed expires",
  },
  closedTickets: {
    max: 1_000,
    error: "unauthenticated",
    reason: "finished calls whose late photo still gets an explanation",
  },
  photosListed: {
    max: 32,
    error: "not_found",
    reason: "per device; older photos are not listed",
  },
  explainMs: {
    max: 25_000,
    error: "device_timeout",
    reason: "the firmware waits 30 s for the first line of the reply",
  },
  providerReplyBytes: {
    max: 256 * KIB,
    error: "payload_too_large",
    reason: "6 KB of it are used; some providers add their reasoning",
  },
  explanationBytes: {
    max: 6_000,
    error: "payload_too_large",
    reason: "with its envelope it must fit into a board's buffer",
  },
  replyBytes: {
    max: 8_000,
    error: "payload_too_large",
    reason: "a board reads less than 8 KB; escaped characters count in their escaped form",
  },
} as const satisfies Record<string, Bound>;
