import { limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import type { Session } from "./session.ts";

/** A slot for one session; `session` is set once it is open. */
export interface SessionSlot {
  readonly principalId: string;
  session?: Session;
}

/**
 * [SRV-3] Bounds the number of sessions, in all and by token. Many agents never end their sessions, so a new session
 * replaces the one that has been idle longest. A session is idle if it has no open request and no open stream.
 */
export class SessionSlots {
  readonly #byPrincipal = new Map<string, Set<SessionSlot>>();
  #total = 0;

  acquire(principalId: string): SessionSlot {
    const own = this.#byPrincipal.get(principalId);
    if ((own?.size ?? 0) >= limits.mcpSessionsPerToken.max) this.#evictIdle(own ?? []);
    else if (this.#total >= limits.mcpSessions.max) this.#evictIdle(this.#all());
    const slot: SessionSlot = { principalId };
    const slots = this.#byPrincipal.get(principalId);
    if (slots === undefined) this.#byPrincipal.set(principalId, new Set([slot]));
    else slots.add(slot);
    this.#total += 1;
    return slot;
  }

  release(slot: SessionSlot): void {
    const own = this.#byPrincipal.get(slot.principalId);
    if (own?.delete(slot) !== true) return;
    if (own.size === 0) this.#byPrincipal.delete(slot.principalId);
    this.#total -= 1;
  }

  #evictIdle(slots: Iterable<SessionSlot>): void {
    let oldest: SessionSlot | undefined;
    let oldestSince = Number.POSITIVE_INFINITY;
    for (const slot of slots) {
      const since = slot.session?.idleSince;
      if (since === undefined || since >= oldestSince) continue;
      oldest = slot;
      oldestSince = since;
    }
    if (oldest === undefined) {
      throw new TendonError("rate_limited", "too many MCP sessions are in use; end one, or close a stream");
    }
    this.release(oldest);
    oldest.session?.close();
  }

  *#all(): Iterable<SessionSlot> {
    for (const slots of this.#byPrincipal.values()) yield* slots;
  }
}
