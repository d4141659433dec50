/**
 * Two names for one conversation [VOI-3]: the board knows ours, the voice server its own. Only the name is exchanged in
 * a text; every other byte of it stays as it was. Ours is safe for the firmware, which pastes it unescaped.
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
    return put(text, this.#ours, this.theirs);
  }

  toBoard(text: string, message: JsonObject): string {
    const changed = put(text, this.#theirs, this.ours);
    if (changed !== text || message["session_id"] !== this.theirs) return changed;
    // Their id in another spelling of JSON (escaped letters): written out again.
    return JSON.stringify({ ...message, session_id: this.ours });
  }
}

/** Inside a text value the quotes are escaped, so this finds members of objects only. */
function pattern(id: string): RegExp {
  const value = JSON.stringify(id).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`("session_id"\\s*:\\s*)${value}`, "g");
}

function put(text: string, from: RegExp, to: string): string {
  return text.replace(from, (_, before: string) => `${before}${JSON.stringify(to)}`);
}
