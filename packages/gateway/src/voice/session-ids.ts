/**
 * The two session ids of a conversation [VOI-3]: the board has ours, the voice server its own. Only the id in a text is
 * replaced; all other bytes stay. Our id has no characters that need escaping, because the firmware does not escape.
 */
import type { JsonObject } from "@tendon/protocol";

export class SessionIds {
  readonly ours: string;
  readonly theirs: string;
  readonly #ours: RegExp;
  readonly #theirs: RegExp;

  constructor(ours: string, theirs: string) {
    this.ours = ours;
    this.theirs = theirs;
    this.#ours = pattern(ours);
    this.#theirs = pattern(theirs);
  }

  toUpstream(text: string): string {
    return replaceId(text, this.#ours, this.theirs);
  }

  toBoard(text: string, message: JsonObject): string {
    const changed = replaceId(text, this.#theirs, this.ours);
    if (changed !== text || message["session_id"] !== this.theirs) return changed;
    // The id was escaped differently in the JSON, so the message is serialised again.
    return JSON.stringify({ ...message, session_id: this.ours });
  }
}

/** Quotes inside a string are escaped, so this matches only members of objects. */
function pattern(id: string): RegExp {
  const value = JSON.stringify(id).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`("session_id"\\s*:\\s*)${value}`, "g");
}

function replaceId(text: string, from: RegExp, to: string): string {
  return text.replace(from, (_, before: string) => `${before}${JSON.stringify(to)}`);
}
