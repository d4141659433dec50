/**
 * Connects to a voice server and then forwards to the connection. The address and credentials may have to be requested
 * first. A server that is restarting is retried after randomised pauses, so that many boards do not reconnect at the
 * same time. A rejection is not retried, except once with new credentials.
 */
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { NotActivated } from "./accounts.ts";
import {
  UpstreamConnection,
  type UpstreamEnd,
  type UpstreamListener,
  type UpstreamTarget,
} from "./upstream-connection.ts";

export interface UpstreamLinkDependencies {
  readonly clock: Clock;
  readonly random: () => number;
  /** The address and the credentials. */
  readonly target: (renewed: boolean) => Promise<UpstreamTarget>;
  /** Whether new credentials can be requested after a rejection. */
  readonly renewable: boolean;
  readonly hello: string;
  /** The deadline for everything up to the server's hello. */
  readonly withinMs: number;
}

const retryPausesMs = [300, 1_000, 2_000];

export class UpstreamLink {
  readonly #dependencies: UpstreamLinkDependencies;
  readonly #listener: UpstreamListener;
  readonly #until: number;
  #connection: UpstreamConnection | undefined;
  #timer: Timer | undefined;
  #attempts = 0;
  #renewed = false;
  #state: "opening" | "open" | "ended" = "opening";

  constructor(dependencies: UpstreamLinkDependencies, listener: UpstreamListener) {
    this.#dependencies = dependencies;
    this.#listener = listener;
    this.#until = dependencies.clock.monotonic() + dependencies.withinMs;
    // Covers `target`, which may have no deadline of its own.
    this.#timer = dependencies.clock.after(dependencies.withinMs, () =>
      this.#end({ kind: "silent", detail: "its address and credentials did not arrive in time" }),
    );
    void this.#resolveTarget();
  }

  sendText(text: string): void {
    this.#connection?.sendText(text);
  }

  /** Returns false if the frame was dropped. */
  sendAudio(frame: Uint8Array): boolean {
    return this.#connection?.sendAudio(frame) ?? false;
  }

  pause(): void {
    this.#connection?.pause();
  }

  resume(): void {
    this.#connection?.resume();
  }

  leave(): void {
    this.#state = "ended";
    this.#timer?.cancel();
    this.#connection?.leave();
  }

  async #resolveTarget(): Promise<void> {
    let target: UpstreamTarget;
    try {
      // Asynchronous, so that the constructor returns before the link can fail.
      target = await Promise.resolve().then(() => this.#dependencies.target(this.#renewed));
    } catch (error) {
      this.#end(
        error instanceof NotActivated
          ? { kind: "inactive", detail: messageOf(error), code: error.code }
          : { kind: "refused", detail: messageOf(error) },
      );
      return;
    }
    if (this.#state === "opening") this.#connect(target);
  }

  #connect(target: UpstreamTarget): void {
    this.#timer?.cancel();
    this.#attempts += 1;
    const { clock, hello } = this.#dependencies;
    const leftMs = Math.max(1, this.#until - clock.monotonic());
    try {
      this.#connection = new UpstreamConnection(target, hello, leftMs, clock, {
        ...this.#listener,
        hello: (message, text) => {
          this.#state = "open";
          this.#listener.hello(message, text);
        },
        ended: (end) => this.#connectionEnded(target, end),
      });
    } catch (error) {
      this.#end({ kind: "refused", detail: messageOf(error) });
    }
  }

  #connectionEnded(target: UpstreamTarget, end: UpstreamEnd): void {
    const { clock, random } = this.#dependencies;
    const pauseMs = (retryPausesMs[this.#attempts - 1] ?? Number.POSITIVE_INFINITY) * (0.5 + random());
    // Some servers reject in the HTTP response, others by closing before their hello.
    const rejected = this.#state === "opening" && (end.kind === "refused" || end.kind === "closed");
    if (rejected && this.#dependencies.renewable && !this.#renewed) {
      this.#renewed = true;
      this.#timer = clock.after(this.#until - clock.monotonic(), () =>
        this.#end({ kind: "silent", detail: "its address and credentials did not arrive in time" }),
      );
      void this.#resolveTarget();
      return;
    }
    const again = this.#state === "opening" && end.transient && clock.monotonic() + pauseMs < this.#until;
    if (again) this.#timer = clock.after(pauseMs, () => this.#connect(target));
    else this.#end(end);
  }

  #end(end: UpstreamEnd): void {
    if (this.#state === "ended") return;
    this.leave();
    this.#listener.ended(end);
  }
}
