import type { Bound } from "./limits.ts";

const KIB = 1024;

/** What passes between a board, the relay and its voice server. */
export const voiceLimits = {
  upstreams: { max: 100, error: "bad_request", reason: "each is looked at when a board says hello" },
  helloMs: {
    max: 8_000,
    error: "device_timeout",
    reason: "the firmware waits 10 s for its hello; two are left to tell it that nobody answers",
  },
  messageBytes: {
    max: 256 * KIB,
    error: "payload_too_large",
    reason: "a voice server sends some hundred bytes; the arguments of its calls may have 64 KiB",
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
    reason: "about a minute of speech; what is older than that is of no use to anybody",
  },
  downlinkFrames: {
    max: 100,
    error: "device_disconnected",
    reason: "6 s of speech on their way to a board; until it reads them the voice server is held up",
  },
  heldFrames: {
    max: 64,
    error: "device_disconnected",
    reason: "what a board or a voice server says while the way to the other is being opened",
  },
  stalledMs: {
    max: 10_000,
    error: "device_disconnected",
    reason: "a voice server that has not read for so long will not catch up",
  },
  otaMs: {
    max: 5_000,
    error: "device_timeout",
    reason: "a board that boots waits for it, and a person who has just spoken",
  },
  otaBytes: {
    max: 64 * KIB,
    error: "payload_too_large",
    reason: "boards themselves read less than 8 KB of it",
  },
  otaAtOnce: {
    max: 64,
    error: "rate_limited",
    reason: "a whole house that boots; more would only queue up at the voice server",
  },
  silentMs: {
    max: 130_000,
    error: "device_timeout",
    reason: "a board that has heard nothing for 120 s takes its audio session for over",
  },
  callsAtOnce: {
    max: 8,
    error: "queue_full",
    reason: "a board runs one at a time; a voice server asks for one or two",
  },
  conversations: { max: 20_000, error: "rate_limited", reason: "each holds two sockets and their buffers" },
} as const satisfies Record<string, Bound>;
