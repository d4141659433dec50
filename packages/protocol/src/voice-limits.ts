import type { Bound } from "./limits.ts";

const KIB = 1024;

/** Bounds on the audio and messages between a board, the relay and its voice server. */
export const voiceLimits = {
  upstreams: { max: 100, error: "bad_request", reason: "each is considered when a board sends hello" },
  helloMs: {
    max: 8_000,
    error: "device_timeout",
    reason:
      "the firmware waits 10 s for its hello; this leaves 2 s to report that the voice server does not answer",
  },
  messageBytes: {
    max: 256 * KIB,
    error: "payload_too_large",
    reason: "a voice server sends a few hundred bytes; the arguments of its calls may have 64 KiB",
  },
  audioBytes: {
    max: 8 * KIB,
    error: "payload_too_large",
    reason: "the largest Opus packet, 120 ms of the highest rate, has 7,656 bytes",
  },
  framesPerSecond: {
    max: 500,
    error: "rate_limited",
    reason: "ten times live audio of the shortest usual packets; some servers send ahead",
  },
  frameBurst: {
    max: 3_000,
    error: "rate_limited",
    reason: "a whole answer of a minute that is sent at once",
  },
  uplinkBytes: {
    max: 256 * KIB,
    error: "device_disconnected",
    reason: "about a minute of speech; older audio is useless",
  },
  downlinkFrames: {
    max: 100,
    error: "device_disconnected",
    reason: "6 s of speech for a board; until it reads them, the relay stops reading from the voice server",
  },
  heldFrames: {
    max: 64,
    error: "device_disconnected",
    reason: "frames of a board or a voice server while the connection to the other is being opened",
  },
  stalledMs: {
    max: 10_000,
    error: "device_disconnected",
    reason: "a voice server that has not read for this long will not catch up",
  },
  otaMs: {
    max: 5_000,
    error: "device_timeout",
    reason: "a booting board waits for it, or a person who has just spoken",
  },
  otaBytes: {
    max: 64 * KIB,
    error: "payload_too_large",
    reason: "boards read less than 8 KB of it",
  },
  otaAtOnce: {
    max: 64,
    error: "rate_limited",
    reason: "all boards of a building that boot at once; more would only queue at the voice server",
  },
  silentMs: {
    max: 130_000,
    error: "device_timeout",
    reason: "a board that has received nothing for 120 s ends its audio session",
  },
  callsAtOnce: {
    max: 8,
    error: "queue_full",
    reason: "a board runs one at a time; a voice server makes one or two calls",
  },
  conversations: { max: 20_000, error: "rate_limited", reason: "each holds two sockets and their buffers" },
} as const satisfies Record<string, Bound>;
