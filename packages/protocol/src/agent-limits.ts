import type { Bound } from "./limits.ts";

/** How much of a device's texts is put before an agent: each word there costs every conversation. */
export const agentLimits = {
  descriptionLength: {
    max: 1_024,
    error: "device_error",
    reason: "the longest description of a function that OpenAI takes",
  },
  schemaTextLength: {
    max: 512,
    error: "device_error",
    reason: "the description of one argument is a sentence or two",
  },
  titleLength: { max: 80, error: "device_error", reason: "a title stands in one line of a menu" },
  schemaDepth: {
    max: 5,
    error: "device_error",
    reason: "the deepest arguments that every vendor takes; no board has more than one level",
  },
  schemaBytes: {
    max: 8 * 1024,
    error: "device_error",
    reason: "about two thousand tokens for one tool; of a larger one only names, types and ranges are shown",
  },
  enumValues: {
    max: 100,
    error: "device_error",
    reason: "a longer list of choices is not read by a model but guessed from",
  },
  enumValueLength: { max: 128, error: "device_error", reason: "a choice is a word, not a text" },
} as const satisfies Record<string, Bound>;
