/**
 * The way to a voice server until it stands, and then the server's connection itself: who and where it is may have to
 * be asked for first, and a server that is restarting is dialled again, after uneven pauses, so that the boards of a
 * whole house do not all come back in the same instant. A server that says no is not asked twice.
 */
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { NotActivated } from "./accounts.ts";
import { Upstream, type UpstreamEnd, type UpstreamListener, type UpstreamTarget } from "./upstream.ts";

export interface LineNeeds {
  readonly clock: Clock;
  readonly random: () => number;
  /** Where to go and as whom. */
  readonly target: (renewed: boolean) => Promise<UpstreamTarget>;
  /** Whether asking again may give a better answer than the one that was refused. */
  readonly renewable: boolean;
  readonly hello: string;
  /** How long all of it may take until the server's hello is there. */
  readonly withinMs: number;
}

const pausesMs = [300, 1_000, 2_000];

export class UpstreamLine {
  readonly #needs: LineNeeds;
  readonly #listener: UpstreamListener;
  readonly #until: number;
  #upstream: Upstream | undefined;
  #timer: Timer | undefined;
  #attempts = 0;
  #renewed = false;
  #state: "opening" | "open" | "ended" = "opening";

  constructor(needs: LineNeeds, listener: UpstreamListener) {
    this.#needs = needs;
    this.#listener = listener;
    this.#until = needs.clock.monotonic() + needs.withinMs;
    // Covers the question for the target, which has no deadline that we know of.
    this.#timer = needs.clock.after(needs.withinMs, () =>
      this.#end({ kind: "silent", detail: "its address was not found in time" }),
    );
    void this.#find();
  }

  sendText(text: string): void {
    this.#upstream?.sendText(text);
  }

  /** False: it is lost. */
  sendAudio(frame: Uint8Array): boolean {
    return this.#upstream?.sendAudio(frame) ?? false;
  }

  pause(): void {
    this.#upstream?.pause();
  }

  resume(): void {
    this.#upstream?.resume();
  }

  leave(): void {
    this.#state = "ended";
    this.#timer?.cancel();
    this.#upstream?.leave();
  }

  async #find(): Promise<void> {
    let target: UpstreamTarget;
    try {
      // Never at once: whoever opens a line must have it in hand before it can fail.
      target = await Promise.resolve().then(() => this.#needs.target(this.#renewed));
    } catch (error) {
      this.#end(
        error instanceof NotActivated
          ? { kind: "inactive", detail: messageOf(error), code: error.code }
          : { kind: "refused", detail: messageOf(error) },
      );
      return;
    }
    if (this.#state === "opening") this.#dial(target);
  }

  #dial(target: UpstreamTarget): void {
    this.#timer?.cancel();
    this.#attempts += 1;
    const { clock, hello } = this.#needs;
    const leftMs = Math.max(1, this.#until - clock.monotonic());
    try {
      this.#upstream = new Upstream(target, hello, leftMs, clock, {
        ...this.#listener,
        hello: (message, text) => {
          this.#state = "open";
          this.#listener.hello(message, text);
        },
        ended: (end) => this.#lost(target, end),
      });
    } catch (error) {
      this.#end({ kind: "refused", detail: messageOf(error) });
    }
  }

  #lost(target: UpstreamTarget, end: UpstreamEnd): void {
    const { clock, random } = this.#needs;
    const pauseMs = (pausesMs[this.#attempts - 1] ?? Number.POSITIVE_INFINITY) * (0.5 + random());
    // Some servers say no in the HTTP answer, others by hanging up before their hello.
    const sayingNo = this.#state === "opening" && (end.kind === "refused" || end.kind === "closed");
    if (sayingNo && this.#needs.renewable && !this.#renewed) {
      this.#renewed = true;
      this.#timer = clock.after(this.#until - clock.monotonic(), () =>
        this.#end({ kind: "silent", detail: "its address was not found in time" }),
      );
      void this.#find();
      return;
    }
    const again = this.#state === "opening" && end.passing && clock.monotonic() + pauseMs < this.#until;
    if (again) this.#timer = clock.after(pauseMs, () => this.#dial(target));
    else this.#end(end);
  }

  #end(end: UpstreamEnd): void {
    if (this.#state === "ended") return;
    this.leave();
    this.#listener.ended(end);
  }
}
