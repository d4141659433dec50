/**
 * Devices by the words they are known by. A word that most devices have tells none of them apart and is passed over,
 * so that a request costs the same in a fleet of two hundred and of twenty thousand.
 */
import SearchableMap from "minisearch/SearchableMap";
import { readText } from "./words.ts";

export interface Place {
  readonly alias: string;
  readonly tags: readonly string[];
  readonly board: string | undefined;
  /** What its tools speak of: a device that speaks of cooling everywhere is an air conditioner. */
  readonly about: readonly string[];
}

/** How much a word counts, by where it stands. */
const ofName = 4.5;
const ofConcept = 3.75;
const ofBoard = 1.5;
const byBeginning = 0.4;
const bySlip = 0.3;
const mostDevices = 5_000;
const fewDevices = 20;

type Weights = Map<string, number>;

export class Places {
  /** word -> device -> how much the word says of it */
  readonly #words = new SearchableMap<Weights>();
  readonly #ofDevice = new Map<string, readonly string[]>();

  set(device: string, place: Place): void {
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

  /** How well each device meets one of these words, of those within. */
  meet(words: readonly string[], within: ReadonlySet<string> | undefined): Weights {
    const met: Weights = new Map();
    for (const word of words) {
      for (const [devices, closeness] of this.#like(word)) {
        const telling = this.#telling(devices.size) * closeness;
        if (telling === 0) continue;
        for (const [device, weight] of devices) {
          if (within?.has(device) === false) continue;
          met.set(device, Math.max(met.get(device) ?? 0, weight * telling));
        }
      }
    }
    return met;
  }

  /** The rarer a word, the more it tells. */
  #telling(count: number): number {
    const all = this.#ofDevice.size;
    if (count > mostDevices || (count > fewDevices && count > all / 2)) return 0;
    return Math.log(1 + (all - count + 0.5) / (count + 0.5));
  }

  #like(word: string): [Weights, number][] {
    const same = this.#words.get(word);
    const found: [Weights, number][] = same === undefined ? [] : [[same, 1]];
    if (!/^[a-z]/.test(word)) return found;
    if (word.length >= 4) {
      for (const [longer, devices] of this.#words.atPrefix(word))
        if (longer !== word) found.push([devices, byBeginning]);
    }
    if (word.length >= 6) {
      for (const [other, [devices]] of this.#words.fuzzyGet(word, 1))
        if (other !== word) found.push([devices, bySlip]);
    }
    return found;
  }
}

function weightsOf({ alias, tags, board, about }: Place): Weights {
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
