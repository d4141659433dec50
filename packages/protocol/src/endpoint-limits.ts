import type { Bound } from "./limits.ts";

/** Bounds on the MCP endpoints of voice agents, both outgoing and incoming. */
export const endpointLimits = {
  outgoing: { max: 32, error: "bad_request", reason: "outgoing endpoints: one for each voice agent" },
  callers: {
    max: 1_000,
    error: "rate_limited",
    reason: "connections of voice servers, one for each conversation; each keeps an SDK server in memory",
  },
  providers: {
    max: 1_000,
    error: "rate_limited",
    reason: "connections of tool providers, each a device; one token may have a quarter of them",
  },
  requests: {
    max: 64,
    error: "rate_limited",
    reason: "unanswered requests of one connection; a voice agent makes a few calls at once",
  },
  answerBytes: {
    max: 8_000,
    error: "payload_too_large",
    reason:
      "the text of an answer to a voice agent as JSON: hosted agents accept 8,192 bytes. The rest is cut",
  },
} as const satisfies Record<string, Bound>;
