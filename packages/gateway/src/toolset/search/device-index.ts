/**
 * An index of devices by the words of their names, tags and boards. Words that most devices share are skipped, so that a
 * request costs the same in a fleet of two hundred and of twenty thousand.
 */
import SearchableMap from "minisearch/SearchableMap";
import { readText } from "./text-analysis.ts";

export interface IndexedDevice {
  readonly alias: string;
  readonly tags: readonly string[];
  readonly board: string | undefined;
  /** Concepts of its tools: a device whose tools all mention cooling is an air conditioner. */
  readonly about: readonly string[];
}

/** The weight of a word by its field. */
const ofName = 4.5;
const ofConcept = 3.75;
const ofBoard = 1.5;
const byPrefix = 0.4;
const byTypingError = 0.3;
const maxDevices = 5_000;
const fewDevices = 20;

type Weights = Map<string, number>;

export class DeviceIndex {
  /** word -> device -> weight */
  readonly #words = new SearchableMap<Weights>();
  readonly #ofDevice = new Map<string, readonly string[]>();

  set(device: string, place: IndexedDevice): void {
    this.delete(device);
    const weights = weightsOf(place);
    for (const [word, weight] of weights) {
      this.#words.update(word, (known = new Map()) => known.set(device, weight));
    }
    this.#ofDevice.set(device, [...weights.keys()]);
  }

  delete(device: string): void {
    for (const word of this.#ofDevice.get(device) ?? []) {
      const known = this.#words.get(word);
      known?.delete(device);
      if (known?.size === 0) this.#words.delete(word);
    }
    this.#ofDevice.delete(device);
  }

  /** The score of each device in `within` for the best of these words. */
  match(words: readonly string[], within: ReadonlySet<string> | undefined): Weights {
    const scores: Weights = new Map();
    for (const word of words) {
      for (const [devices, closeness] of this.#similar(word)) {
        const rarity = this.#rarity(devices.size) * closeness;
        if (rarity === 0) continue;
        for (const [device, weight] of devices) {
          if (within?.has(device) === false) continue;
          scores.set(device, Math.max(scores.get(device) ?? 0, weight * rarity));
        }
      }
    }
    return scores;
  }

  /** The rarer a word, the higher its weight. */
  #rarity(count: number): number {
    const all = this.#ofDevice.size;
    if (count > maxDevices || (count > fewDevices && count > all / 2)) return 0;
    return Math.log(1 + (all - count + 0.5) / (count + 0.5));
  }

  #similar(word: string): [Weights, number][] {
    const same = this.#words.get(word);
    const found: [Weights, number][] = same === undefined ? [] : [[same, 1]];
    if (!/^[a-z][^_]*$/.test(word)) return found;
    if (word.length >= 4) {
      for (const [longer, devices] of this.#words.atPrefix(word))
        if (longer !== word) found.push([devices, byPrefix]);
    }
    if (word.length >= 6) {
      for (const [other, [devices]] of this.#words.fuzzyGet(word, 1))
        if (other !== word) found.push([devices, byTypingError]);
    }
    return found;
  }
}

function weightsOf({ alias, tags, board, about }: IndexedDevice): Weights {
  const weights: Weights = new Map();
  const add = (words: readonly string[], weight: number) => {
    for (const word of words) weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  };
  const name = readText([alias, ...tags].join("\n"));
  add(name.words, ofName);
  add(name.concepts, ofConcept);
  add(readText(board ?? "").words, ofBoard);
  add(about, ofBoard);
  return weights;
}
