import type { Bound } from "./limits.ts";

/** Bounds on a device's texts for agents. Every word uses up the context of every conversation. */
export const agentLimits = {
  descriptionLength: {
    max: 1_024,
    error: "device_error",
    reason: "the longest function description that OpenAI accepts",
  },
  schemaTextLength: {
    max: 512,
    error: "device_error",
    reason: "the description of one argument is a sentence or two",
  },
  titleLength: { max: 80, error: "device_error", reason: "a title fits one line of a menu" },
  schemaDepth: {
    max: 5,
    error: "device_error",
    reason: "the deepest arguments that every vendor accepts; no board has more than one level",
  },
  schemaBytes: {
    max: 8 * 1024,
    error: "device_error",
    reason: "about 2,000 tokens for one tool; a larger schema is reduced to names, types and ranges",
  },
  enumValues: {
    max: 100,
    error: "device_error",
    reason: "a model guesses from a longer list of choices instead of reading it",
  },
  enumValueLength: { max: 128, error: "device_error", reason: "a choice is a word, not a text" },
} as const satisfies Record<string, Bound>;
