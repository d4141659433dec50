/** Things in the order they happened, to be taken one by one; taking waits until there is one. */
export class Inbox<Item> {
  readonly all: Item[] = [];
  readonly #waiting: ((item: Item) => void)[] = [];
  #taken = 0;

  put(item: Item): void {
    this.all.push(item);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    this.#taken += 1;
    waiting(item);
  }

  async next(): Promise<Item> {
    const item = this.all[this.#taken];
    if (item === undefined) return await new Promise((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
    return item;
  }
}
