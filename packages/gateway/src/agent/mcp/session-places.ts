import { limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import type { Session } from "./session.ts";

/** Room for one session; `session` is there once it is open. */
export interface SessionPlace {
  readonly principalId: string;
  session?: Session;
}

/**
 * [SRV-3] The sessions there are, all together and by token: each holds memory until its agent ends it. Many agents never
 * do, so the session that has been idle longest gives way to a new one. A session is idle while none of its requests is
 * being answered and none of its streams is open; one that is not idle never gives way.
 */
export class SessionPlaces {
  readonly #byPrincipal = new Map<string, Set<SessionPlace>>();
  #total = 0;

  take(principalId: string): SessionPlace {
    const own = this.#byPrincipal.get(principalId);
    if ((own?.size ?? 0) >= limits.mcpSessionsPerToken.max) this.#makeRoom(own ?? []);
    else if (this.#total >= limits.mcpSessions.max) this.#makeRoom(this.#all());
    const place: SessionPlace = { principalId };
    const places = this.#byPrincipal.get(principalId);
    if (places === undefined) this.#byPrincipal.set(principalId, new Set([place]));
    else places.add(place);
    this.#total += 1;
    return place;
  }

  give(place: SessionPlace): void {
    const own = this.#byPrincipal.get(place.principalId);
    if (own?.delete(place) !== true) return;
    if (own.size === 0) this.#byPrincipal.delete(place.principalId);
    this.#total -= 1;
  }

  #makeRoom(places: Iterable<SessionPlace>): void {
    let oldest: SessionPlace | undefined;
    let oldestSince = Number.POSITIVE_INFINITY;
    for (const place of places) {
      const since = place.session?.idleSince;
      if (since === undefined || since >= oldestSince) continue;
      oldest = place;
      oldestSince = since;
    }
    if (oldest === undefined) {
      throw new TendonError("rate_limited", "too many MCP sessions are in use; end one, or close a stream");
    }
    this.give(oldest);
    oldest.session?.close();
  }

  *#all(): Iterable<SessionPlace> {
    for (const places of this.#byPrincipal.values()) yield* places;
  }
}
