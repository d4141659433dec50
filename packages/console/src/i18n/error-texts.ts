import type { ErrorCode } from "@tendon/protocol";

/** Every code has a sentence and the one thing to do next. */
export type ErrorWords = Readonly<Record<`${"error" | "next"}.${ErrorCode | "unreachable"}`, string>>;
