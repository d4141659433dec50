import type { Timers } from "../clock.ts";
import { ConnectError, type ConnectErrorCode } from "../errors.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";
import type { DeviceEvents, DisconnectReason } from "./device-events.ts";
import type { MainLoop } from "./main-loop.ts";
import type { OpenOutcome, Transport } from "./transport.ts";

export interface LifelineOptions {
  readonly autoReconnect: boolean;
  readonly returnAfterReboot: boolean;
  readonly bootMs: number;
  readonly backoff: BackoffOptions;
  readonly random: () => number;
  /** Waits for permission to dial; the function it gives ends the permission. */
  readonly dialGate: (() => Promise<() => void>) | undefined;
}

export interface LifelineHost {
  readonly events: DeviceEvents;
  readonly loop: MainLoop;
  readonly timers: Timers;
  readonly transport: Transport | undefined;
  dialling(): void;
  /** The channel stands; `greeted` is false after a hello that never came. */
  opened(greeted: boolean): void;
  idle(): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: ConnectError) => void;
}

/**
 * Keeps a device connected for as long as it is wanted. Dialling happens on the main loop and blocks it, as
 * on the chip, so nothing else leaves the device before the server's hello has come or has been given up.
 */
export class Lifeline {
  readonly #options: LifelineOptions;
  readonly #host: LifelineHost;
  readonly #backoff: Backoff;
  #wanted = false;
  #stopped = false;
  #up = false;
  #dialling = false;
  #attempt = 0;
  #cancelRetry: (() => void) | undefined;
  #waiters: Waiter[] = [];

  constructor(options: LifelineOptions, host: LifelineHost) {
    this.#options = options;
    this.#host = host;
    this.#backoff = new Backoff(options.backoff, options.random);
  }

  get up(): boolean {
    return this.#up;
  }

  async connect(): Promise<void> {
    if (this.#stopped) throw new ConnectError("stopped", "the device has been stopped");
    if (this.#host.transport === undefined)
      throw new ConnectError("no_transport", "the device has no address");
    this.#wanted = true;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#dial();
    });
  }

  leave(): void {
    this.#wanted = false;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#host.transport?.close();
    this.#down("left", undefined);
    this.#giveUp("stopped", "the device left before it was connected");
  }

  stop(): void {
    this.#stopped = true;
    this.leave();
  }

  /** The channel ended by itself. */
  lost(reason: DisconnectReason, code: number | undefined): void {
    this.#down(reason, code);
    this.#retry();
  }

  /** The device closes its channel and will want it back. */
  hangUp(reason: DisconnectReason): void {
    this.#host.transport?.close();
    this.#down(reason, undefined);
  }

  resume(): void {
    this.#retry();
  }

  powerCut(reason: "reboot" | "crash"): void {
    this.#dialling = false;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.hangUp(reason);
    if (!this.#wanted) return;
    if (this.#options.returnAfterReboot) this.#dialAfter(this.#options.bootMs);
    else this.#giveUp("crashed", "the device went down and stays down");
  }

  #dial(): void {
    if (this.#dialling) return;
    this.#dialling = true;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#host.loop.schedule(async () => await this.#open());
  }

  async #open(): Promise<void> {
    const { transport, loop, events } = this.#host;
    const { life } = loop;
    if (transport === undefined || !this.#wanted) {
      this.#dialling = false;
      return;
    }
    if (!transport.isOpen) {
      this.#attempt += 1;
      this.#host.dialling();
      events.emit({ kind: "connecting", attempt: this.#attempt });
      const outcome = await this.#openThroughGate(transport);
      if (life !== loop.life) return;
      this.#dialling = false;
      this.#settle(outcome, transport);
      return;
    }
    this.#dialling = false;
    this.#resolveWaiters();
  }

  async #openThroughGate(transport: Transport): Promise<OpenOutcome> {
    const release = await this.#options.dialGate?.();
    try {
      if (!this.#wanted) return { ok: false, code: "stopped", detail: "no longer wanted" };
      return await transport.open();
    } finally {
      release?.();
    }
  }

  #settle(outcome: OpenOutcome, transport: Transport): void {
    if (outcome.ok) {
      this.#backoff.reset();
      this.#up = true;
      this.#host.events.emit({
        kind: "connected",
        sessionId: Buffer.from(transport.sessionId, "latin1").toString(),
      });
      this.#host.opened(true);
      this.#resolveWaiters();
      return;
    }
    this.#host.idle();
    const { code, detail, cause } = outcome;
    this.#host.events.emit({ kind: "connect-failed", code, detail });
    if (code === "hello_timeout") {
      // The socket stays open; what is asked on it is answered.
      this.#up = true;
      this.#host.opened(false);
      this.#giveUp(code, detail, cause);
    } else if (this.#wanted && this.#options.autoReconnect) this.#retry();
    else this.#giveUp(code, detail, cause);
  }

  #retry(): void {
    if (this.#wanted && this.#options.autoReconnect) this.#dialAfter(this.#backoff.next());
  }

  #dialAfter(ms: number): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#host.timers.after(ms, () => {
      this.#cancelRetry = undefined;
      this.#dial();
    });
  }

  #down(reason: DisconnectReason, code: number | undefined): void {
    this.#host.idle();
    if (!this.#up) return;
    this.#up = false;
    this.#host.events.emit({ kind: "disconnected", reason, code });
  }

  #resolveWaiters(): void {
    for (const waiter of this.#takeWaiters()) waiter.resolve();
  }

  #giveUp(code: ConnectErrorCode, detail: string, cause?: unknown): void {
    for (const waiter of this.#takeWaiters()) waiter.reject(new ConnectError(code, detail, { cause }));
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}
