/**
 * A board that wants to talk where no voice server is [DEV-22, MQT-8]. The person reads that this server is for tools
 * only; then the board goes back to rest. Over MQTT a goodbye does that. Over WebSocket the firmware has no such word:
 * in the modes `auto` and `realtime` it listens until its connection ends, so the gateway ends it, once the tools are
 * listed and the calls that wait have had their turn. In the mode `manual` it rests when its button is released.
 */
import type { Clock, Timer } from "../clock.ts";
import type { BoardSession } from "./board-session.ts";

/** Long enough to read a short sentence: the goodbye, or the end of the connection, clears the screen. */
const readingMs = 3_000;
/** The board is at rest only when nothing was due for it for this long. */
const pauseMs = 500;
/** After this the connection ends whatever still runs: the microphone is on all the while. */
const longestMs = 30_000;

export class ToolsOnly {
  readonly #session: BoardSession;
  readonly #clock: Clock;
  /** When the board was last sent the alert; `undefined` for a device that offered no audio. */
  #alertedAt: number | undefined;
  /** The board streams audio; saying hello, or that it listens, is not enough: other devices do so and stay. */
  #streams = false;
  #manual = false;
  #timer: Timer | undefined;

  constructor(session: BoardSession, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
  }

  /** The device has said hello and could talk. */
  begin(): void {
    this.end();
    this.#alert();
    const { sessionId, transport } = this.#session;
    if (transport !== "mqtt") return;
    this.#timer = this.#clock.after(readingMs, () => {
      this.#session.send({ type: "goodbye", session_id: sessionId });
    });
  }

  listens({ state, mode }: { readonly state: string; readonly mode?: string }): void {
    if (state === "detect" || this.#session.transport === "mqtt") return;
    this.#streams = false;
    this.#manual = mode === "manual";
    if (state === "stop" || this.#manual) this.#cancel();
  }

  /** One packet of audio on the connection itself. */
  streams(): void {
    if (this.#alertedAt === undefined || this.#streams || this.#timer !== undefined) return;
    this.#streams = true;
    // A later talk on the same connection: the screen no longer shows what it showed then.
    if (this.#clock.monotonic() - this.#alertedAt >= readingMs) this.#alert();
    if (!this.#manual) this.#rest(this.#alertedAt);
  }

  /** The talk is over, or another begins. */
  end(): void {
    this.#cancel();
    this.#alertedAt = undefined;
    this.#streams = false;
    this.#manual = false;
  }

  #cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #alert(): void {
    this.#alertedAt = this.#clock.monotonic();
    this.#session.send({
      type: "alert",
      session_id: this.#session.sessionId,
      status: "Tools only",
      message: "This server runs the device's tools. No voice server is connected.",
      emotion: "neutral",
    });
  }

  #rest(alertedAt: number): void {
    let quiet = false;
    const look = () => {
      const leftMs = alertedAt + longestMs - this.#clock.monotonic();
      if (leftMs <= 0 || (quiet && this.#session.nothingDue)) {
        this.#session.close(1000, "no voice server is connected: the gateway ended the conversation", false);
        return;
      }
      quiet = this.#session.nothingDue;
      this.#timer = this.#clock.after(Math.min(pauseMs, leftMs), look);
    };
    const firstLook = alertedAt + readingMs - pauseMs - this.#clock.monotonic();
    this.#timer = this.#clock.after(Math.max(0, firstLook), look);
  }
}
