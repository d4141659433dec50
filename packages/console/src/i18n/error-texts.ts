import type { ErrorCode } from "@tendon/protocol";

/** Every error code has a title and a text about what to do next. */
export type ErrorTexts = Readonly<Record<`${"error" | "next"}.${ErrorCode | "unreachable"}`, string>>;
