import { isUtf8 } from "node:buffer";

export interface LineHandler {
  line(text: string): void;
  /** A line beyond the bound, told once, when the bound is passed; what is left of it is thrown away. */
  tooLong(): void;
  /** A line whose bytes are not UTF-8. */
  notText(): void;
}

const newline = 10;

/**
 * Cuts bytes into lines and only then reads them as text, so that a character may be split across chunks. Holds at
 * most one bounded line. A chunk is not kept: whoever reads may use the same memory for the next one.
 */
export class LineSplitter {
  readonly #handler: LineHandler;
  readonly #longest: number;
  /** The beginning of a line whose end has not come yet. */
  #pending: Buffer[] = [];
  #held = 0;
  #skipping = false;

  constructor(longest: number, handler: LineHandler) {
    this.#longest = longest;
    this.#handler = handler;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, end));
      this.#finish();
      from = end + 1;
    }
    if (from < chunk.length) this.#add(Buffer.from(chunk.subarray(from)));
  }

  /** A last line without its newline is a line, too. */
  end(): void {
    if (this.#held > 0) this.#finish();
  }

  #add(part: Buffer): void {
    if (this.#skipping) return;
    this.#held += part.length;
    this.#pending.push(part);
    if (this.#held <= this.#longest) return;
    this.#clear();
    this.#skipping = true;
    this.#handler.tooLong();
  }

  #finish(): void {
    const [first = Buffer.alloc(0), ...rest] = this.#pending;
    const bytes = rest.length === 0 ? first : Buffer.concat(this.#pending);
    const skipped = this.#skipping;
    this.#clear();
    if (skipped) return;
    const text = bytes.toString();
    // Bad bytes turn into this character, which may also have been sent as such.
    if (text.includes("\ufffd") && !isUtf8(bytes)) this.#handler.notText();
    else this.#handler.line(text);
  }

  #clear(): void {
    this.#pending = [];
    this.#held = 0;
    this.#skipping = false;
  }
}
