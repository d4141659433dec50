import type { ServerResponse } from "node:http";
import type { GatewayEvent } from "@tendon/protocol";

/** An event after a pause is written at once; those that follow are collected for this long. */
const collectMs = 10;

/**
 * Writes events to the open streams. Under load each stream gets one write every few milliseconds, not one for each event:
 * the system calls of ten streams cost more than the call that the event is about.
 */
export class EventWriter {
  readonly #unsent = new Map<ServerResponse, string>();
  #isScheduled = false;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #lastEvent: GatewayEvent | undefined;
  #lastText = "";

  write(stream: ServerResponse, event: GatewayEvent): void {
    this.writeText(stream, this.#textOf(event));
  }

  writeText(stream: ServerResponse, text: string): void {
    this.#unsent.set(stream, (this.#unsent.get(stream) ?? "") + text);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#flushedAt + collectMs - performance.now();
    if (waitMs <= 0) setImmediate(() => this.flush());
    else setTimeout(() => this.flush(), waitMs);
  }

  /** The bytes that the client has not taken yet. */
  unsentOf(stream: ServerResponse): number {
    return stream.writableLength + (this.#unsent.get(stream)?.length ?? 0);
  }

  flush(): void {
    this.#isScheduled = false;
    this.#flushedAt = performance.now();
    const unsent = [...this.#unsent];
    this.#unsent.clear();
    for (const [stream, text] of unsent) send(stream, text);
  }

  close(stream: ServerResponse): void {
    const text = this.#unsent.get(stream);
    this.#unsent.delete(stream);
    if (text !== undefined) send(stream, text);
  }

  /** All streams get the same text. */
  #textOf(event: GatewayEvent): string {
    if (this.#lastEvent === event) return this.#lastText;
    this.#lastEvent = event;
    this.#lastText = `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
    return this.#lastText;
  }
}

/** A stream that has ended but is not closed yet accepts no writes. */
function send(stream: ServerResponse, text: string): void {
  if (!stream.writableEnded && !stream.destroyed) stream.write(text);
}
