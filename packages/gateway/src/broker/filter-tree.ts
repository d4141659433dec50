interface Branch<Item> {
  readonly branches: Map<string, Branch<Item>>;
  readonly items: Set<Item>;
}

/** Who has subscribed to what, level by level: a topic finds everybody it is for without looking at the others. */
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

  /** Each of them once, however many of its filters take the topic in. */
  matching(topic: string): ReadonlySet<Item> {
    const found = new Set<Item>();
    collect(this.#root, topic.split("/"), 0, found);
    return found;
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

function collect<Item>(branch: Branch<Item>, levels: readonly string[], at: number, found: Set<Item>): void {
  // `#` takes in its own parent too.
  for (const item of branch.branches.get("#")?.items ?? []) found.add(item);
  const level = levels[at];
  if (level === undefined) {
    for (const item of branch.items) found.add(item);
    return;
  }
  for (const name of [level, "+"]) {
    const next = branch.branches.get(name);
    if (next !== undefined) collect(next, levels, at + 1, found);
  }
}
