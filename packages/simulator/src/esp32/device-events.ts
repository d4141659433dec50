import type { Timers } from "../clock.ts";
import { WaitError } from "../errors.ts";
import type { StateValue } from "./device-state.ts";

export type Phase = "idle" | "connecting" | "listening" | "speaking";
export type DisconnectReason = "left" | "server-close" | "network" | "reboot" | "crash" | "upgrade";

/** The events of a device. */
export type DeviceEvent =
  /** The device shows a code for approval at the server. */
  | { readonly kind: "activation-code"; readonly code: string; readonly message: string | undefined }
  | { readonly kind: "ota-failed"; readonly attempt: number; readonly detail: string }
  | { readonly kind: "provisioned"; readonly transport: "mqtt" | "websocket" }
  | { readonly kind: "connecting"; readonly attempt: number }
  | { readonly kind: "connected"; readonly sessionId: string }
  | { readonly kind: "connect-failed"; readonly code: string; readonly detail: string }
  | { readonly kind: "disconnected"; readonly reason: DisconnectReason; readonly code: number | undefined }
  | { readonly kind: "frame"; readonly direction: "in" | "out"; readonly text: string }
  | { readonly kind: "frame-lost"; readonly why: "closed" | "too-large"; readonly bytes: number }
  /** Where the firmware logs what it drops, `why` has the words of its log. */
  | { readonly kind: "frame-ignored"; readonly why: string }
  | {
      readonly kind: "audio";
      readonly direction: "in" | "out";
      readonly bytes: number;
      readonly played: boolean;
      /** The Opus packet itself. */
      readonly packet: Uint8Array;
    }
  /** Only MQTT has separate audio sessions; over WebSocket the connection is the session. */
  | { readonly kind: "audio-opened"; readonly sessionId: string }
  | { readonly kind: "audio-failed"; readonly code: string; readonly detail: string }
  | { readonly kind: "audio-closed"; readonly by: "device" | "server" }
  | { readonly kind: "phase"; readonly phase: Phase; readonly previous: Phase }
  | {
      readonly kind: "state";
      readonly key: string;
      readonly value: StateValue;
      readonly previous: StateValue | undefined;
    }
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly id: number;
      readonly arguments: Readonly<Record<string, StateValue>>;
    }
  | {
      readonly kind: "call-finished";
      readonly tool: string;
      readonly id: number;
      readonly error: string | undefined;
    }
  | { readonly kind: "reply"; readonly id: number; readonly payload: Buffer; readonly delivered: boolean }
  | { readonly kind: "message"; readonly type: string; readonly fields: Readonly<Record<string, string>> }
  | { readonly kind: "reboot"; readonly cause: string }
  /** The device waits for itself and answers nothing until it loses power. */
  | { readonly kind: "hung"; readonly cause: string }
  | { readonly kind: "failure"; readonly error: unknown };

export type DeviceEventKind = DeviceEvent["kind"];
export type DeviceEventOf<K extends DeviceEventKind> = Extract<DeviceEvent, { readonly kind: K }>;

export interface WaitOptions {
  /** Default 10 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

type Listener = (event: DeviceEvent) => void;

/** Builds no event objects without listeners, so that a thousand unobserved devices cost nothing. */
export class DeviceEvents {
  readonly #timers: Timers;
  readonly #all = new Set<Listener>();
  readonly #byKind = new Map<DeviceEventKind, Set<Listener>>();
  readonly #waits = new Set<(error: WaitError) => void>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  observe(listener: Listener): () => void {
    this.#all.add(listener);
    return () => {
      this.#all.delete(listener);
    };
  }

  on<K extends DeviceEventKind>(kind: K, listener: (event: DeviceEventOf<K>) => void): () => void {
    const set = this.#byKind.get(kind) ?? new Set<Listener>();
    this.#byKind.set(kind, set);
    // Safe: this set is called only with events of its kind.
    const wrapped: Listener = (event) => listener(event as DeviceEventOf<K>);
    set.add(wrapped);
    return () => {
      set.delete(wrapped);
    };
  }

  wanted(kind: DeviceEventKind): boolean {
    return this.#all.size > 0 || (this.#byKind.get(kind)?.size ?? 0) > 0;
  }

  emit(event: DeviceEvent): void {
    for (const listener of [...this.#all]) listener(event);
    for (const listener of [...(this.#byKind.get(event.kind) ?? [])]) listener(event);
  }

  async waitFor<K extends DeviceEventKind>(
    kind: K,
    matches: (event: DeviceEventOf<K>) => boolean = () => true,
    options: WaitOptions = {},
  ): Promise<DeviceEventOf<K>> {
    const { timeoutMs = 10_000, signal } = options;
    return await new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        this.#waits.delete(refuse);
        off();
        cancel();
        signal?.removeEventListener("abort", aborted);
        settle();
      };
      const refuse = (error: WaitError): void => finish(() => reject(error));
      const aborted = (): void =>
        refuse(new WaitError(`timed out waiting for "${kind}"`, { cause: signal?.reason }));
      const off = this.on(kind, (event) => {
        if (matches(event)) finish(() => resolve(event));
      });
      const cancel = this.#timers.after(timeoutMs, () =>
        refuse(new WaitError(`no "${kind}" within ${timeoutMs} ms`)),
      );
      this.#waits.add(refuse);
      if (signal?.aborted === true) aborted();
      else signal?.addEventListener("abort", aborted, { once: true });
    });
  }

  /** Settles every waiter: nothing more will happen. */
  stop(): void {
    for (const refuse of [...this.#waits]) refuse(new WaitError("the device has been stopped"));
  }
}
