/** The longest wait for something that must come; only a failing test reaches it. */
const patienceMs = 15_000;

class NothingCame extends Error {
  override readonly name = "NothingCame";
}

/** A queue (first in, first out) whose reader waits for the next item. */
export class Inbox<Item> {
  readonly #items: Item[] = [];
  readonly #takers: ((item: Item) => void)[] = [];
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  /** Items that have arrived and were not taken yet. */
  get waiting(): readonly Item[] {
    return this.#items;
  }

  put(item: Item): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
  }

  async take(): Promise<Item> {
    const item = this.#items.shift();
    if (item !== undefined) return item;
    return await new Promise<Item>((resolve, reject) => {
      const taker = (came: Item) => {
        clearTimeout(timer);
        resolve(came);
      };
      const timer = setTimeout(() => {
        this.#takers.splice(this.#takers.indexOf(taker), 1);
        reject(new NothingCame(`no ${this.#what} came within ${patienceMs} ms`));
      }, patienceMs);
      this.#takers.push(taker);
    });
  }
}

/** Polls until the answer is neither false nor undefined. */
export async function until<Value>(
  ask: () => Value | Promise<Value>,
  what = "what was waited for",
): Promise<Exclude<Value, false | undefined>> {
  const end = performance.now() + patienceMs;
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + 1, 10)) {
    const value = await ask();
    if (value !== false && value !== undefined) return value as Exclude<Value, false | undefined>;
    if (performance.now() > end) throw new NothingCame(`${what} did not come within ${patienceMs} ms`);
    // Short pauses at first, for speed; longer ones later, so that polling does not slow down what it waits for.
    await new Promise((resolve) => {
      setTimeout(resolve, pauseMs);
    });
  }
}
