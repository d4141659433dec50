import { limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";

/** How many sessions there are, all together and by token: each holds memory until its agent says goodbye. */
export class SessionCount {
  readonly #byPrincipal = new Map<string, number>();
  #total = 0;

  take(principalId: string): void {
    const own = this.#byPrincipal.get(principalId) ?? 0;
    if (own >= limits.mcpSessionsPerToken.max || this.#total >= limits.mcpSessions.max) {
      throw new TendonError("rate_limited", "too many open MCP sessions; end one, or wait for one to lapse");
    }
    this.#byPrincipal.set(principalId, own + 1);
    this.#total += 1;
  }

  give(principalId: string): void {
    const own = this.#byPrincipal.get(principalId) ?? 0;
    if (own <= 1) this.#byPrincipal.delete(principalId);
    else this.#byPrincipal.set(principalId, own - 1);
    this.#total -= 1;
  }
}
