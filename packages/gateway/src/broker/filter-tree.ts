interface Branch<Item> {
  readonly branches: Map<string, Branch<Item>>;
  readonly items: Set<Item>;
}

/** Subscriptions as a tree of topic levels, so that a topic finds its subscribers without a scan of all filters. */
export class FilterTree<Item> {
  readonly #root: Branch<Item> = newBranch();

  add(filter: string, item: Item): void {
    let branch = this.#root;
    for (const level of filter.split("/")) {
      const next = branch.branches.get(level) ?? newBranch();
      branch.branches.set(level, next);
      branch = next;
    }
    branch.items.add(item);
  }

  delete(filter: string, item: Item): void {
    prune(this.#root, filter.split("/"), item);
  }

  /** Each item once, also if several of its filters match. */
  matching(topic: string): ReadonlySet<Item> {
    const found = new Set<Item>();
    for (const items of branchesOf(this.#root, topic.split("/"), 0))
      for (const item of items) found.add(item);
    return found;
  }

  /** Whether one of this item's filters matches the topic. */
  matches(topic: string, item: Item): boolean {
    for (const items of branchesOf(this.#root, topic.split("/"), 0)) if (items.has(item)) return true;
    return false;
  }
}

function newBranch<Item>(): Branch<Item> {
  return { branches: new Map(), items: new Set() };
}

function prune<Item>(branch: Branch<Item>, [level, ...rest]: readonly string[], item: Item): void {
  if (level === undefined) {
    branch.items.delete(item);
    return;
  }
  const next = branch.branches.get(level);
  if (next === undefined) return;
  prune(next, rest, item);
  if (next.items.size === 0 && next.branches.size === 0) branch.branches.delete(level);
}

function* branchesOf<Item>(
  branch: Branch<Item>,
  levels: readonly string[],
  at: number,
): Generator<ReadonlySet<Item>> {
  // `#` matches its parent level too [MQTT-4.7.1-2].
  const below = branch.branches.get("#");
  if (below !== undefined) yield below.items;
  const level = levels[at];
  if (level === undefined) {
    yield branch.items;
    return;
  }
  for (const name of [level, "+"]) {
    const next = branch.branches.get(name);
    if (next !== undefined) yield* branchesOf(next, levels, at + 1);
  }
}
