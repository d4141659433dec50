/**
 * Groups writes that arrive close together. The first is written at once. While they keep coming, each further group
 * collects those of a few turns of the event loop: an idle gateway passes these turns within a millisecond, and a storm
 * of connections fills the group meanwhile.
 */
export interface GroupedWrite<Item, Result = void> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

const largestGroup = 250;
const turnsBetween = 32;

export class WriteGroups<Item, Result = void> {
  readonly #write: (group: readonly GroupedWrite<Item, Result>[]) => Promise<void>;
  #waiting: GroupedWrite<Item, Result>[] = [];
  #isWriting = false;

  /** `write` settles every item of the group, and never rejects. */
  constructor(write: (group: readonly GroupedWrite<Item, Result>[]) => Promise<void>) {
    this.#write = write;
  }

  /** `answer` has one result for each item, in their order. An error is the error of all. */
  static of<Item, Result>(
    answer: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): WriteGroups<Item, Result> {
    return new WriteGroups(async (group) => {
      try {
        const results = await answer(group.map(({ item }) => item));
        // Safe: there is one result for each item.
        for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    });
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isWriting) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isWriting = true;
    await nextTurn();
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, largestGroup);
      await this.#write(group);
      for (let turn = 0; turn < turnsBetween && this.#waiting.length < largestGroup; turn += 1)
        await nextTurn();
    }
    this.#isWriting = false;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
