import { isUtf8 } from "node:buffer";

export interface LineHandler {
  line(text: string): void;
  /** Called once for a line that exceeds the bound; the rest of the line is discarded. */
  tooLong(): void;
  /** A line whose bytes are not UTF-8. */
  notText(): void;
}

const newline = 10;

/**
 * Splits bytes into lines before decoding them, so that a character may be split across chunks. Holds at most one bounded
 * line. It does not keep chunks, so the caller may reuse their memory.
 */
export class LineSplitter {
  readonly #handler: LineHandler;
  readonly #maxBytes: number;
  /** The start of an incomplete line. */
  #pending: Buffer[] = [];
  #held = 0;
  #skipping = false;

  constructor(maxBytes: number, handler: LineHandler) {
    this.#maxBytes = maxBytes;
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

  /** A last line without a newline counts too. */
  end(): void {
    if (this.#held > 0) this.#finish();
  }

  #add(part: Buffer): void {
    if (this.#skipping) return;
    this.#held += part.length;
    this.#pending.push(part);
    if (this.#held <= this.#maxBytes) return;
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
    // Invalid bytes decode to this character, which may also have been sent.
    if (text.includes("\ufffd") && !isUtf8(bytes)) this.#handler.notText();
    else this.#handler.line(text);
  }

  #clear(): void {
    this.#pending = [];
    this.#held = 0;
    this.#skipping = false;
  }
}
