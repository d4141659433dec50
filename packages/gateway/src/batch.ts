/**
 * Things to be done at the end of this turn of the event loop, all of one kind together. The same code over a hundred
 * packets costs far less than over one of them between a hundred others: it is in the processor's caches. Nobody waits
 * longer for it: the turn ends before the next packets are read.
 */
export class Batch<Item> {
  readonly #work: (item: Item) => void;
  readonly #atEnd = () => this.flush();
  #items: Item[] = [];

  constructor(work: (item: Item) => void) {
    this.#work = work;
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) setImmediate(this.#atEnd);
  }

  /** For what must come after all that was added. */
  flush(): void {
    const items = this.#items;
    this.#items = [];
    for (const item of items) this.#work(item);
  }
}
