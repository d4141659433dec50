interface Placed {
  /** The prefix of the names of the device's tools. */
  readonly key: string;
  readonly id: string;
}

type Aliased = { readonly id: string; readonly alias: string };

/**
 * The devices in the order of their tools' names, for all principals. A name begins with `{alias}__` [AGT-1] and no alias
 * has an underscore, so the tools of a device are adjacent: a page of a list is found without sorting every tool.
 */
export class DeviceOrder {
  readonly #devices: ReadonlyMap<string, Aliased>;
  readonly #keys = new Map<string, string>();
  /** `undefined` before the first use. */
  #sorted: Placed[] | undefined;

  constructor(devices: ReadonlyMap<string, Aliased>) {
    this.#devices = devices;
  }

  /** Applies that a device was added, was removed or got another alias. */
  update(id: string): void {
    const sorted = this.#sorted;
    if (sorted === undefined) return;
    const before = this.#keys.get(id);
    const alias = this.#devices.get(id)?.alias;
    const key = alias === undefined ? undefined : keyOf(alias);
    if (before === key) return;
    if (before !== undefined) {
      sorted.splice(placeOf(sorted, { key: before, id }), 1);
      this.#keys.delete(id);
    }
    if (key === undefined) return;
    sorted.splice(placeOf(sorted, { key, id }), 0, { key, id });
    this.#keys.set(id, key);
  }

  /** The devices whose tools may come after this name, in order. */
  *after(name: string | undefined): Iterable<string> {
    this.#sorted ??= this.#sort();
    const sorted = this.#sorted;
    // The name belongs to the last device whose key is not greater than the name.
    const from = name === undefined ? 0 : Math.max(0, placeOf(sorted, { key: name, id: "" }) - 1);
    for (let index = from; index < sorted.length; index += 1) yield sorted[index]?.id ?? "";
  }

  #sort(): Placed[] {
    const placed = [...this.#devices.values()].map(({ id, alias }) => ({ key: keyOf(alias), id }));
    for (const { key, id } of placed) this.#keys.set(id, key);
    return placed.sort(compare);
  }
}

function keyOf(alias: string): string {
  return `${alias}__`;
}

function compare(one: Placed, other: Placed): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** The index of the entry, or the index at which it would be inserted. */
function placeOf(sorted: readonly Placed[], wanted: Placed): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const at = sorted[middle];
    if (at !== undefined && compare(at, wanted) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
