/**
 * The console's event stream, shared by the whole page. It resumes after a lost connection, and it knows whether the
 * data on the page is live and since when it is not.
 */
import type { GatewayEvent } from "@tendon/protocol";
import { createParser } from "eventsource-parser";
import { apiHeaders } from "../api/client.ts";

export type LiveState =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `since`: the last time at which the data was up to date. */
  | { readonly kind: "reconnecting"; readonly since: number }
  /** The page is hidden: the connection is closed, and reopened when the page is visible again. */
  | { readonly kind: "paused" };

type Listener = (event: GatewayEvent) => void;

const firstPauseMs = 500;
const maxPauseMs = 8_000;
/** The gateway sends at least a comment every 15 s; a stream that is silent for longer is dead. */
const silenceMs = 35_000;
const pauseAfterMs = 60_000;
const maxRecentEvents = 500;

export class Live {
  #state: LiveState = { kind: "connecting" };
  #lastId: string | undefined;
  #lastByteAt = Date.now();
  #pauseMs = firstPauseMs;
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #recent: readonly GatewayEvent[] = [];
  readonly #stateListeners = new Set<() => void>();
  readonly #listeners = new Set<Listener>();
  /** Called when events were lost, so that all loaded data may be out of date. */
  readonly #onMissed: () => void;
  readonly #onSignedOut: () => void;

  constructor(onMissed: () => void, onSignedOut: () => void) {
    this.#onMissed = onMissed;
    this.#onSignedOut = onSignedOut;
  }

  get state(): LiveState {
    return this.#state;
  }

  /** The recent events, newest last. */
  get recent(): readonly GatewayEvent[] {
    return this.#recent;
  }

  onState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  onEvent(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): () => void {
    const onVisible = () => this.#visibilityChanged();
    const onNetwork = () => this.#retryNow();
    // An open stream notices a lost network late, so it is aborted.
    const onNoNetwork = () => this.#abort?.abort();
    document.addEventListener("visibilitychange", onVisible);
    window.addEventListener("online", onNetwork);
    window.addEventListener("offline", onNoNetwork);
    this.#stopped = false;
    void this.#connect();
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      window.removeEventListener("online", onNetwork);
      window.removeEventListener("offline", onNoNetwork);
      clearTimeout(this.#timer);
      clearTimeout(this.#hiddenTimer);
      this.#stopped = true;
      this.#abort?.abort();
    };
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#timer);
    const abort = new AbortController();
    this.#abort = abort;
    const alive = () => {
      this.#lastByteAt = Date.now();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => abort.abort(), silenceMs);
    };
    alive();
    const resume = this.#lastId;
    try {
      const response = await fetch("/api/v1/events", {
        headers: { ...apiHeaders(), ...(resume === undefined ? {} : { "last-event-id": resume }) },
        signal: abort.signal,
        cache: "no-store",
      });
      // The page asks the gateway for the reason. If the session is still valid, the stream reconnects.
      if (response.status === 401) this.#onSignedOut();
      if (response.ok && response.body !== null) {
        // Without an id to resume from, the events during the disconnection are lost.
        if (this.#state.kind === "reconnecting" && resume === undefined) this.#onMissed();
        this.#pauseMs = firstPauseMs;
        this.#become({ kind: "live" });
        await this.#read(response.body, alive);
      }
    } catch {
      // Handled below by changing the state.
    }
    if (this.#abort !== abort || this.#stopped) return;
    clearTimeout(this.#timer);
    if (this.#state.kind === "paused") return;
    if (this.#state.kind !== "reconnecting") this.#become({ kind: "reconnecting", since: this.#lastByteAt });
    this.#timer = setTimeout(() => void this.#connect(), this.#pauseMs * (0.75 + Math.random() / 2));
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
  }

  async #read(body: ReadableStream<Uint8Array<ArrayBuffer>>, alive: () => void): Promise<void> {
    const parser = createParser({
      onEvent: ({ event, data, id }) => {
        if (event === "reset") this.#onMissed();
        else this.#take(id, JSON.parse(data) as GatewayEvent);
      },
    });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      parser.feed(value);
    }
  }

  #take(id: string | undefined, event: GatewayEvent): void {
    if (id !== undefined) this.#lastId = id;
    this.#recent = [...this.#recent.slice(1 - maxRecentEvents), event];
    for (const listener of this.#listeners) listener(event);
  }

  #become(state: LiveState): void {
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }

  #retryNow(): void {
    if (this.#state.kind !== "reconnecting") return;
    this.#pauseMs = firstPauseMs;
    void this.#connect();
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === "hidden") {
      this.#hiddenTimer = setTimeout(() => {
        this.#become({ kind: "paused" });
        this.#abort?.abort();
      }, pauseAfterMs);
    } else if (this.#state.kind === "paused") {
      this.#become({ kind: "reconnecting", since: this.#lastByteAt });
      void this.#connect();
    }
  }
}
