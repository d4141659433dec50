/**
 * Writes messages to the client in order, with a pause between progress and the reply. The official clients process all
 * lines of a chunk at once and finish the request before its progress, which they would then drop.
 */
import { answeredBy, type Message, methodOf } from "./message.ts";

/** Long enough for a client on a busy machine to read the earlier lines. */
const gapMs = 20;

export class PacedOutput {
  readonly #write: (message: Message) => void;
  #waiting: Message[] = [];
  #progressAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (message: Message) => void) {
    this.#write = write;
  }

  send(message: Message): void {
    this.#waiting.push(message);
    if (this.#timer === undefined) this.#drain();
  }

  /** Writes all waiting messages without pauses. */
  end(): void {
    clearTimeout(this.#timer);
    for (const message of this.#waiting.splice(0)) this.#write(message);
  }

  #drain(): void {
    this.#timer = undefined;
    let next = this.#waiting[0];
    while (next !== undefined) {
      const now = performance.now();
      const waitMs = answeredBy(next) === undefined ? 0 : this.#progressAt + gapMs - now;
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#drain(), waitMs);
        return;
      }
      this.#waiting.shift();
      this.#write(next);
      if (methodOf(next) === "notifications/progress") this.#progressAt = now;
      next = this.#waiting[0];
    }
  }
}
