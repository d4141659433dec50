import type { Bound } from "./limits.ts";

const KIB = 1024;

/** What a board's camera may upload, and what it can read of the answer. */
export const visionLimits = {
  pictureBytes: {
    max: 4 * 1024 * KIB,
    error: "payload_too_large",
    reason: "a board's JPEG has 20 to 300 KB; the largest sensor in use makes about 2 MB",
  },
  pictureSide: {
    max: 16_384,
    error: "bad_request",
    reason: "no camera of a board comes near; a larger picture is made to exhaust whoever decodes it",
  },
  questionBytes: {
    max: 4 * KIB,
    error: "payload_too_large",
    reason: "a question, not a document; the board itself got it in a message of at most 8 KB",
  },
  parts: { max: 4, error: "bad_request", reason: "the firmware sends two" },
  partHeaders: { max: 16, error: "bad_request", reason: "the firmware sends two for a part" },
  bodyBytes: {
    max: 8 * 1024 * KIB,
    error: "payload_too_large",
    reason: "what is too large is still read this far, because a board that is cut off does not hear why",
  },
  uploadMs: {
    max: 30_000,
    error: "device_timeout",
    reason: "the caller waits 75 s for the camera, the way here and the explanation together",
  },
  uploadsAtOnce: {
    max: 128,
    error: "rate_limited",
    reason: "each holds a picture in memory; one call of many devices asks as many of them at a time",
  },
  openTickets: {
    max: 10_000,
    error: "rate_limited",
    reason: "one for each call of a camera that runs",
  },
  ticketMs: {
    max: 300_000,
    error: "unauthenticated",
    reason: "no call lasts longer; a ticket that nobody closed must not stay open",
  },
  closedTickets: {
    max: 1_000,
    error: "unauthenticated",
    reason: "calls that are over and whose late picture is still told so in words",
  },
  photosListed: {
    max: 32,
    error: "not_found",
    reason: "of one device; older ones are no longer offered by number",
  },
  explainMs: {
    max: 25_000,
    error: "device_timeout",
    reason: "the firmware waits 30 s for the first line of the reply",
  },
  providerReplyBytes: {
    max: 256 * KIB,
    error: "payload_too_large",
    reason: "6 KB of it are used; some providers add their thoughts",
  },
  explanationBytes: {
    max: 6_000,
    error: "payload_too_large",
    reason: "with its envelope it has to stay below what a board can hold",
  },
  replyBytes: {
    max: 8_000,
    error: "payload_too_large",
    reason: "a board reads less than 8 KB; escaped characters count as they are written",
  },
} as const satisfies Record<string, Bound>;
