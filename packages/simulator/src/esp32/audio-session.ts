import { ConnectError, type ConnectErrorCode } from "../errors.ts";
import { fromText, toText } from "./byte-text.ts";
import type { DeviceEvents } from "./device-events.ts";
import type { MainLoop } from "./main-loop.ts";
import type { AudioChannel, OpenOutcome, Transport } from "./transport.ts";

export interface AudioSessionHost {
  readonly loop: MainLoop;
  readonly events: DeviceEvents;
  readonly transport: Transport | undefined;
  /** One attempt to connect, if there is no connection. */
  connect(): Promise<void>;
  /** Connecting with retries, if that opens the channel. */
  connectFully(): Promise<void>;
  disconnect(): void;
  dialling(): void;
  /** The session is open: the device reports that it listens. */
  opened(wakeWord: string | undefined): void;
  idle(): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Opens and closes the audio session for a person or the server, one request after the other on the main loop. */
export class AudioSession {
  readonly #host: AudioSessionHost;
  readonly #waiters = new Set<Waiter>();

  constructor(host: AudioSessionHost) {
    this.#host = host;
  }

  async open(wakeWord: string | undefined): Promise<void> {
    if (this.#host.transport?.audio === undefined) await this.#host.connectFully();
    const channel = this.#host.transport?.audio;
    if (channel === undefined) return;
    await this.#onLoop(async (life) => {
      if (!channel.isOpen) {
        this.#host.dialling();
        const outcome = await this.#greet(channel);
        if (life !== this.#host.loop.life) return;
        if (!outcome.ok) {
          this.#host.idle();
          this.#host.events.emit({ kind: "audio-failed", code: outcome.code, detail: outcome.detail });
          throw new ConnectError(outcome.code, outcome.detail, { cause: outcome.cause });
        }
        const sessionId = toText(this.#host.transport?.sessionId ?? fromText(""));
        this.#host.events.emit({ kind: "audio-opened", sessionId });
      }
      this.#host.opened(wakeWord);
    });
  }

  async close(): Promise<void> {
    if (this.#host.transport?.audio === undefined) this.#host.disconnect();
    else await this.#onLoop(() => this.#end("goodbye"));
  }

  /** The server's goodbye; the device does not answer it. */
  ended(): void {
    this.#host.loop.schedule(() => this.#end("silent"));
  }

  /** Before a restart or an upgrade: ends the session without a message if it has expired. */
  leave(): void {
    if (this.#host.transport?.audio?.isOpen === true) this.#end("goodbye");
  }

  /** The device restarted, so the waiting requests are rejected. */
  abandon(code: ConnectErrorCode, detail: string): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.reject(new ConnectError(code, detail));
  }

  async #greet(channel: AudioChannel): Promise<OpenOutcome> {
    try {
      await this.#host.connect();
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return { ok: false, code: error.code, detail: error.message, cause: error };
    }
    return await channel.open();
  }

  #end(manner: "goodbye" | "silent"): void {
    const closed = this.#host.transport?.audio?.close(manner) ?? false;
    this.#host.idle();
    if (closed) {
      this.#host.events.emit({ kind: "audio-closed", by: manner === "goodbye" ? "device" : "server" });
    }
  }

  async #onLoop(task: (life: number) => void | Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const waiter = { resolve, reject };
      this.#waiters.add(waiter);
      this.#host.loop.schedule(async () => {
        const { life } = this.#host.loop;
        try {
          await task(life);
          // After a power cut, abandon() has already settled the request.
          if (this.#waiters.delete(waiter)) resolve();
        } catch (error) {
          if (this.#waiters.delete(waiter)) reject(error);
        }
      });
    });
  }
}
