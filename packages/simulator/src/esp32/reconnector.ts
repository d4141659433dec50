import type { Timers } from "../clock.ts";
import { ConnectError, type ConnectErrorCode } from "../errors.ts";
import { Backoff, type BackoffOptions } from "./backoff.ts";
import { fromText, toText } from "./byte-text.ts";
import type { DeviceEvents, DisconnectReason } from "./device-events.ts";
import type { MainLoop } from "./main-loop.ts";
import type { OpenOutcome, Transport } from "./transport.ts";

export interface ReconnectorOptions {
  readonly autoReconnect: boolean;
  readonly returnAfterReboot: boolean;
  readonly bootMs: number;
  /** By default, the transport's own delays. */
  readonly backoff: BackoffOptions | undefined;
  readonly random: () => number;
  readonly dialGate: (() => Promise<() => void>) | undefined;
}

export interface ReconnectorHost {
  readonly events: DeviceEvents;
  readonly loop: MainLoop;
  readonly timers: Timers;
  readonly transport: Transport | undefined;
  /** Work of a boot before the first connection attempt; undefined if there is none. */
  prepare(): Promise<OpenOutcome> | undefined;
  /** The connection is no longer wanted. */
  left(): void;
  dialling(): void;
  /** The channel is open; `greeted` is false if the server's hello never came. */
  opened(greeted: boolean): void;
  down(reason: DownReason): void;
}

/** Why there is no connection: it ended, or an attempt failed. */
type DownReason = DisconnectReason | "refused";

type Line =
  /** No connection is wanted. */
  | { readonly at: "off" }
  /** A connection is wanted, but a back-off, a boot or an upgrade must end first. */
  | { readonly at: "waiting"; readonly cancel: () => void }
  /** Queued on the main loop or connecting. Each attempt is a new object, so that an old one is not confused with it. */
  | { readonly at: "dialling" }
  | { readonly at: "up"; readonly greeted: boolean }
  | { readonly at: "stopped" };

interface Waiter {
  /** Waits for one attempt only, whatever its result. */
  readonly once: boolean;
  readonly resolve: () => void;
  readonly reject: (error: ConnectError) => void;
}

/** Failures that another attempt would not fix. */
const hopeless: ReadonlySet<ConnectErrorCode> = new Set(["no_transport", "ota_failed", "ota_hung"]);

/**
 * Keeps a device connected while a connection is wanted. If connecting also opens the audio channel, it runs on the main
 * loop and blocks it, as on the chip. The device then sends nothing else before the server's hello or its timeout.
 */
export class Reconnector {
  readonly #options: ReconnectorOptions;
  readonly #host: ReconnectorHost;
  readonly #backoff: Backoff;
  #line: Line = { at: "off" };
  #attempts = 0;
  #waiters: Waiter[] = [];

  constructor(options: ReconnectorOptions, host: ReconnectorHost) {
    this.#options = options;
    this.#host = host;
    this.#backoff = new Backoff(options.random);
  }

  get up(): boolean {
    return this.#line.at === "up";
  }

  /** With `once`, a failed attempt rejects even if another one will follow. */
  async connect(once = !this.#options.autoReconnect): Promise<void> {
    if (this.#line.at === "stopped") throw new ConnectError("stopped", "the device has been stopped");
    if (this.#line.at === "up" && this.#line.greeted && this.#host.transport?.isOpen === true) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiters.push({ once, resolve, reject });
      if (this.#line.at !== "dialling") this.#dial();
    });
  }

  leave(): void {
    this.#end("off", "left");
  }

  stop(): void {
    this.#end("stopped", "left");
  }

  /** The server or the network ended the channel. */
  lost(reason: DisconnectReason, code: number | undefined): void {
    this.#hungUp(reason, code);
    this.#retry();
  }

  /** Closes the channel until resume(). */
  pause(reason: DisconnectReason): void {
    if (this.#line.at === "off" || this.#line.at === "stopped") return;
    this.#host.transport?.close();
    this.#hungUp(reason, undefined);
    this.#become({ at: "waiting", cancel: () => undefined });
  }

  resume(): void {
    this.#retry();
  }

  powerCut(reason: "reboot" | "crash"): void {
    if (this.#line.at === "off" || this.#line.at === "stopped") return;
    this.#host.transport?.drop();
    this.#hungUp(reason, undefined);
    if (this.#options.returnAfterReboot) this.#dialAfter(this.#options.bootMs);
    else {
      this.#become({ at: "off" });
      this.#giveUp("crashed", "the device went down and stays down");
    }
  }

  #become(line: Line): void {
    if (this.#line.at === "waiting") this.#line.cancel();
    this.#line = line;
  }

  #end(at: "off" | "stopped", reason: DisconnectReason): void {
    this.#host.left();
    this.#host.transport?.close();
    this.#hungUp(reason, undefined);
    this.#become({ at });
    this.#giveUp("stopped", "the device stopped before it was connected");
  }

  #dial(): void {
    const mine: Line = { at: "dialling" };
    this.#become(mine);
    const ready = this.#host.prepare();
    if (ready === undefined) {
      this.#start(mine);
      return;
    }
    const proceed = (outcome: OpenOutcome): void => {
      if (this.#line !== mine) return;
      if (outcome.ok) this.#start(mine);
      else this.#settle(outcome, undefined);
    };
    ready.then(proceed).catch((error: unknown) => this.#host.events.emit({ kind: "failure", error }));
  }

  #start(mine: Line): void {
    const { transport, loop, events } = this.#host;
    if (transport === undefined) {
      this.#settle({ ok: false, code: "no_transport", detail: "the device has no address" }, undefined);
    } else if (transport.audio === undefined) {
      loop.schedule(async () => await this.#open(transport, mine));
    } else {
      this.#open(transport, mine).catch((error: unknown) => events.emit({ kind: "failure", error }));
    }
  }

  async #open(transport: Transport, mine: Line): Promise<void> {
    if (this.#line !== mine) return;
    this.#attempts += 1;
    this.#host.dialling();
    this.#host.events.emit({ kind: "connecting", attempt: this.#attempts });
    const release = await this.#options.dialGate?.();
    try {
      if (this.#line !== mine) return;
      const outcome = await transport.open();
      if (this.#line === mine) this.#settle(outcome, transport);
    } finally {
      release?.();
    }
  }

  #settle(outcome: OpenOutcome, transport: Transport | undefined): void {
    if (outcome.ok) {
      this.#backoff.reset();
      this.#become({ at: "up", greeted: true });
      this.#host.events.emit({ kind: "connected", sessionId: toText(transport?.sessionId ?? fromText("")) });
      this.#host.opened(true);
      for (const waiter of this.#takeWaiters()) waiter.resolve();
      return;
    }
    const { code, detail, cause } = outcome;
    this.#host.down("refused");
    this.#host.events.emit({ kind: "connect-failed", code, detail });
    if (code === "hello_timeout") {
      // The socket stays open, and the device answers requests on it.
      this.#become({ at: "up", greeted: false });
      this.#host.opened(false);
      this.#giveUp(code, detail, cause);
    } else if (hopeless.has(code)) {
      this.#become({ at: "off" });
      this.#giveUp(code, detail, cause);
    } else {
      this.#retry();
      this.#tellImpatient(code, detail, cause);
    }
  }

  /** Connects again after a delay, or stays idle if reconnecting is not wanted. */
  #retry(): void {
    if (this.#line.at === "off" || this.#line.at === "stopped") return;
    const backoff = this.#options.backoff ?? this.#host.transport?.retry ?? {};
    if (this.#options.autoReconnect) this.#dialAfter(this.#backoff.next(backoff));
    else this.#become({ at: "off" });
  }

  #dialAfter(ms: number): void {
    this.#become({ at: "waiting", cancel: this.#host.timers.after(ms, () => this.#dial()) });
  }

  #hungUp(reason: DisconnectReason, code: number | undefined): void {
    const wasUp = this.#line.at === "up";
    this.#host.down(reason);
    if (wasUp) this.#host.events.emit({ kind: "disconnected", reason, code });
  }

  #giveUp(code: ConnectErrorCode, detail: string, cause?: unknown): void {
    for (const waiter of this.#takeWaiters()) waiter.reject(new ConnectError(code, detail, { cause }));
  }

  #tellImpatient(code: ConnectErrorCode, detail: string, cause: unknown): void {
    const waiters = this.#takeWaiters();
    this.#waiters = waiters.filter((waiter) => !waiter.once);
    for (const waiter of waiters) {
      if (waiter.once) waiter.reject(new ConnectError(code, detail, { cause }));
    }
  }

  #takeWaiters(): Waiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}
