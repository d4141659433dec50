import { isUtf8 } from "node:buffer";

export interface LineHandler {
  line(text: string): void;
  /** A line beyond the bound, told once, when the bound is passed; what is left of it is thrown away. */
  tooLong(): void;
  /** A line whose bytes are not UTF-8. */
  notText(): void;
}

const newline = 10;
const smallest = 4096;

/**
 * Cuts bytes into lines and only then reads them as text, so that a character may be split across chunks. Holds at
 * most one bounded line. A chunk is not kept: whoever reads may use the same memory for the next one.
 */
export class LineSplitter {
  readonly #handler: LineHandler;
  readonly #longest: number;
  /** The beginning of a line whose end has not come yet. */
  #pending = Buffer.alloc(0);
  #held = 0;
  #skipping = false;

  constructor(longest: number, handler: LineHandler) {
    this.#longest = longest;
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      this.#finish(chunk, from, end);
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk, from, chunk.length);
  }

  /** A last line without its newline is a line, too. */
  end(): void {
    if (this.#held > 0) this.#release();
  }

  #finish(chunk: Buffer, from: number, end: number): void {
    if (this.#skipping) this.#skipping = false;
    else if (this.#held > 0) {
      this.#keep(chunk, from, end);
      if (this.#skipping) this.#skipping = false;
      else this.#release();
    } else if (end - from > this.#longest) this.#handler.tooLong();
    else this.#give(chunk, from, end);
  }

  #keep(chunk: Buffer, from: number, end: number): void {
    if (this.#skipping) return;
    const held = this.#held + end - from;
    if (held > this.#longest) {
      this.#drop();
      this.#skipping = true;
      this.#handler.tooLong();
      return;
    }
    if (held > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.max(smallest, Math.min(2 * held, this.#longest)));
      this.#pending.copy(larger, 0, 0, this.#held);
      this.#pending = larger;
    }
    chunk.copy(this.#pending, this.#held, from, end);
    this.#held = held;
  }

  #release(): void {
    const whole = this.#pending;
    const length = this.#held;
    this.#drop();
    this.#give(whole, 0, length);
  }

  #drop(): void {
    this.#held = 0;
    if (this.#pending.length > smallest) this.#pending = Buffer.alloc(0);
  }

  #give(bytes: Buffer, from: number, end: number): void {
    const text = bytes.toString("utf8", from, end);
    // Bad bytes turn into this character, which may also have been sent as such.
    if (text.includes("\ufffd") && !isUtf8(bytes.subarray(from, end))) this.#handler.notText();
    else this.#handler.line(text);
  }
}
