/**
 * Finds dead connections without closing idle ones [DEV-12, DEV-13]. Any frame or pong counts as activity. Some
 * firmware never answers pings, so after a minute of silence the gateway pings over MCP, and closes the connection
 * only if that stays unanswered too. One timer serves all connections.
 */
import type { Clock, Timer } from "../clock.ts";
import type { BoardSession } from "./board-session.ts";

const POLICY = 1008;
const sweepMs = 5_000;
const pingAfterMs = 30_000;
const probeAfterMs = 60_000;
const goneAfterProbeMs = 30_000;

export class Liveness {
  readonly #sessions = new Map<BoardSession, { pingedAt: number }>();
  readonly #clock: Clock;
  readonly #timer: Timer;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#timer = clock.every(sweepMs, () => this.#sweep());
  }

  watch(session: BoardSession): void {
    this.#sessions.set(session, { pingedAt: this.#clock.monotonic() });
  }

  /** Closes every connection of the device, also before its hello. Returns whether there was one. */
  disconnect(deviceId: string, reason: string): boolean {
    const found = [...this.#sessions.keys()].filter(
      (session) => session.deviceId === deviceId && session.state.kind !== "closed",
    );
    for (const session of found) session.close(POLICY, reason, false);
    return found.length > 0;
  }

  stop(): void {
    this.#timer.cancel();
    this.#sessions.clear();
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [session, watched] of this.#sessions) {
      if (session.state.kind === "closed") {
        this.#sessions.delete(session);
        continue;
      }
      const silent = session.silentForMs;
      if (silent < pingAfterMs) continue;
      if (now - watched.pingedAt >= pingAfterMs) {
        watched.pingedAt = now;
        session.link.ping();
      }
      if (silent >= probeAfterMs) session.probe();
      if ((session.probedForMs ?? 0) >= goneAfterProbeMs) {
        session.close(1001, "the device stopped responding");
      }
    }
  }
}
