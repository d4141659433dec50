/**
 * Splits a stream of bytes into lines of bounded length. A line that is too long is reported once and skipped.
 * Characters that are split between two chunks are decoded correctly.
 */
export class LineReader {
  readonly #limit: number;
  readonly #line: (text: string) => void;
  readonly #tooLong: () => void;
  #parts: Buffer[] = [];
  #size = 0;
  #skipping = false;

  constructor(limit: number, line: (text: string) => void, tooLong: () => void) {
    this.#limit = limit;
    this.#line = line;
    this.#tooLong = tooLong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      this.#take(chunk.subarray(from, end));
      this.#endLine();
      from = end + 1;
    }
    if (from < chunk.byteLength) this.#take(chunk.subarray(from));
  }

  #take(part: Buffer): void {
    if (this.#skipping) return;
    this.#size += part.byteLength;
    if (this.#size > this.#limit) {
      this.#parts = [];
      this.#skipping = true;
      this.#tooLong();
    } else {
      this.#parts.push(part);
    }
  }

  #endLine(): void {
    const text = this.#skipping ? "" : Buffer.concat(this.#parts).toString().trim();
    this.#parts = [];
    this.#size = 0;
    this.#skipping = false;
    if (text !== "") this.#line(text);
  }
}
