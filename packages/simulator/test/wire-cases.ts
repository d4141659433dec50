import { readFileSync } from "node:fs";

interface WireEvent {
  readonly from?: "device" | "backend";
  readonly text?: string;
  readonly note?: string;
}

interface WireCase {
  readonly case: string;
  readonly transport: "ws" | "mqtt";
  readonly exit: string;
  readonly events: readonly WireEvent[];
}

/** The recorded conversations of one transport. */
export function wireCases(transport: WireCase["transport"]): readonly WireCase[] {
  const file = new URL("fixtures/firmware-wire-transcript.jsonl", import.meta.url);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines
    .map((line) => JSON.parse(line) as WireCase)
    .filter((candidate) => candidate.transport === transport);
}

/** The recording was made on a board with only the common tools, and has lengths instead of descriptions. */
export function asRecorded(text: string): string {
  return text
    .replace(
      /"description":"((?:[^"\\]|\\.)*)"/g,
      (_all, words: string) => `"description":"(${Buffer.byteLength(words)} bytes)"`,
    )
    .replace(/,\{"name":"self\.dummy\..*"nextCursor":"[^"]*"\}/, "]}");
}
