/**
 * Handles a board that starts a conversation without a voice server [DEV-22, MQT-8]. The board shows an alert that
 * this server is for tools only, and then stops listening. Over MQTT a goodbye stops it. Over WebSocket the firmware
 * has no such message: in the modes `auto` and `realtime` it listens until its connection ends. The gateway therefore
 * closes the connection, after the tools are listed and queued calls have run. In `manual` it stops with its button.
 */
import type { Clock, Timer } from "../clock.ts";
import type { BoardSession } from "./board-session.ts";

/** Time to read the alert. The goodbye or the end of the connection clears the screen. */
const alertMs = 3_000;
/** The board counts as idle after no call ran for this long. */
const pauseMs = 500;
/** After this the connection is closed even if a call runs, because the microphone is on. */
const maxMs = 30_000;

export class ToolsOnly {
  readonly #session: BoardSession;
  readonly #clock: Clock;
  /** When the last alert was sent; `undefined` for a device that offered no audio. */
  #alertedAt: number | undefined;
  /** The board streams audio. A hello or `listen` alone is not enough: other devices send them and stay. */
  #streaming = false;
  #manual = false;
  #timer: Timer | undefined;

  constructor(session: BoardSession, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
  }

  /** The device sent a hello and offers audio. */
  begin(): void {
    this.end();
    this.#alert();
    const { sessionId, transport } = this.#session;
    if (transport !== "mqtt") return;
    this.#timer = this.#clock.after(alertMs, () => {
      this.#session.send({ type: "goodbye", session_id: sessionId });
    });
  }

  listenReceived({ state, mode }: { readonly state: string; readonly mode?: string }): void {
    if (state === "detect" || this.#session.transport === "mqtt") return;
    this.#streaming = false;
    this.#manual = mode === "manual";
    if (state === "stop" || this.#manual) this.#cancel();
  }

  /** One audio packet on the connection. */
  audioReceived(): void {
    if (this.#alertedAt === undefined || this.#streaming || this.#timer !== undefined) return;
    this.#streaming = true;
    // A later conversation on the same connection: the screen no longer shows the alert.
    if (this.#clock.monotonic() - this.#alertedAt >= alertMs) this.#alert();
    if (!this.#manual) this.#endWhenIdle(this.#alertedAt);
  }

  /** The conversation has ended, or another starts. */
  end(): void {
    this.#cancel();
    this.#alertedAt = undefined;
    this.#streaming = false;
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

  #endWhenIdle(alertedAt: number): void {
    let quiet = false;
    const check = () => {
      const leftMs = alertedAt + maxMs - this.#clock.monotonic();
      if (leftMs <= 0 || (quiet && this.#session.isIdle)) {
        this.#session.close(1000, "no voice server is connected: the gateway ended the conversation", false);
        return;
      }
      quiet = this.#session.isIdle;
      this.#timer = this.#clock.after(Math.min(pauseMs, leftMs), check);
    };
    const firstCheck = alertedAt + alertMs - pauseMs - this.#clock.monotonic();
    this.#timer = this.#clock.after(Math.max(0, firstCheck), check);
  }
}
