/** First in, first out, with someone waiting. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #readers: ((item: T) => void)[] = [];

  get waiting(): number {
    return this.#items.length;
  }

  put(item: T): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#items.push(item);
    else reader(item);
  }

  async take(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return item;
    return await new Promise((resolve) => {
      this.#readers.push(resolve);
    });
  }
}
