/** Feeds a decoder with changed seeds and made inputs, and measures it. */
import fc from "fast-check";
import { heapAfterCollection, threadCpuMs } from "./cpu.ts";
import { mutate } from "./mutate.ts";
import { Random } from "./random.ts";
import type { Target } from "./target.ts";

/** The promise for one input. */
export const mostCpuMs = 50;
/** After a full collection; a leak of a few bytes per input shows in a million inputs. */
const mostGrowthBytes = 4 * 1024 * 1024;
const poolSize = 300;
const madeAtOnce = 100;
const madeShare = 0.2;

export interface Failure {
  readonly target: string;
  readonly seed: number;
  readonly input: Buffer;
  readonly reason: string;
}

export interface Report {
  readonly target: string;
  readonly inputs: number;
  readonly seconds: number;
  /** The slowest input, and its CPU time. */
  readonly slowestMs: number;
  readonly slowest: Buffer;
  /** Undefined without `--expose-gc`. */
  readonly growthBytes: number | undefined;
  readonly mostGrowthBytes: number;
  /** How many inputs had which outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly failure?: Failure;
}

export interface Bounds {
  readonly seed: number;
  readonly inputs?: number;
  readonly seconds?: number;
  /** Tries the corpus as it is, before anything else. */
  readonly replay?: boolean;
}

/** A different stream of inputs for each target, from one seed. */
export function seedOf(seed: number, name: string): number {
  let mixed = seed >>> 0;
  for (const letter of name) mixed = (Math.imul(mixed, 31) + (letter.codePointAt(0) ?? 0)) >>> 0;
  return mixed;
}

/** Seeds, and inputs that led to outcomes not seen before. */
export class Inputs {
  readonly #target: Pick<Target, "maxBytes" | "arbitrary">;
  readonly #random: Random;
  readonly #pool: Buffer[];
  readonly #seen = new Set<string>();
  #made: Buffer[] = [];

  constructor(
    target: Pick<Target, "seeds" | "maxBytes" | "arbitrary">,
    corpus: readonly Buffer[],
    random: Random,
  ) {
    this.#target = target;
    this.#random = random;
    this.#pool = [...target.seeds, ...corpus];
    if (this.#pool.length === 0) this.#pool.push(Buffer.from("{}"));
  }

  next(): Buffer {
    const { maxBytes } = this.#target;
    const random = this.#random;
    if (random.chance(madeShare)) {
      const made = this.#nextMade();
      if (made !== undefined)
        return random.chance(0.5) ? made : mutate(made, random.pick(this.#pool), random, maxBytes);
    }
    return mutate(random.pick(this.#pool), random.pick(this.#pool), random, maxBytes);
  }

  /** Keeps an input for further changes if its outcome is new. */
  learn(input: Buffer, outcome: string): void {
    if (this.#seen.has(outcome) || this.#seen.size >= poolSize || input.length > 16 * 1024) return;
    this.#seen.add(outcome);
    this.#pool.push(Buffer.from(input));
  }

  #nextMade(): Buffer | undefined {
    const { arbitrary } = this.#target;
    if (arbitrary === undefined) return undefined;
    if (this.#made.length === 0) {
      const seed = this.#random.below(0x7fff_ffff);
      this.#made = fc.sample(arbitrary, { seed, numRuns: madeAtOnce });
    }
    return this.#made.pop();
  }
}

export function fuzz(target: Target, corpus: readonly Buffer[], bounds: Bounds): Report {
  const { inputs: most = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY } = bounds;
  const inputs = new Inputs(target, corpus, new Random(seedOf(bounds.seed, target.name)));
  const outcomes = new Map<string, number>();
  const started = performance.now();
  let [count, slowestMs, slowest, failure]: [number, number, Buffer, Failure | undefined] = [
    0,
    0,
    Buffer.alloc(0),
    undefined,
  ];
  let heap: number | undefined;
  let warm = false;
  while (count < most && failure === undefined) {
    const elapsed = performance.now() - started;
    if (elapsed > seconds * 1_000) break;
    // The first tenth fills caches and the pool.
    if (!warm && (count >= most / 10 || elapsed > seconds * 100)) {
      heap = heapAfterCollection();
      warm = true;
    }
    const input = inputs.next();
    count += 1;
    try {
      const before = performance.now();
      const outcome = target.run(input);
      const took = performance.now() - before;
      inputs.learn(input, outcome);
      const kind = outcome.split(":", 1)[0] ?? "";
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
      if (took > slowestMs) {
        const cpu = took < 1 ? took : Math.min(took, leastCpuMs(target, input));
        if (cpu > slowestMs) [slowestMs, slowest] = [cpu, input];
        if (cpu > (target.mostCpuMs ?? mostCpuMs))
          failure = failed(target, bounds.seed, input, `${cpu.toFixed(1)} ms of CPU`);
      }
    } catch (error) {
      failure = failed(
        target,
        bounds.seed,
        input,
        error instanceof Error ? (error.stack ?? String(error)) : String(error),
      );
    }
  }
  const seconds_ = (performance.now() - started) / 1_000;
  const end = heapAfterCollection();
  const growthBytes = heap === undefined || end === undefined ? undefined : end - heap;
  return {
    target: target.name,
    inputs: count,
    seconds: seconds_,
    slowestMs,
    slowest,
    growthBytes,
    mostGrowthBytes,
    outcomes,
    ...(failure === undefined ? {} : { failure }),
  };
}

function failed({ name }: Target, seed: number, input: Buffer, reason: string): Failure {
  return { target: name, seed, input, reason };
}

/** The least of three runs: compiling and collecting happen to fall into one of them. */
function leastCpuMs(target: Target, input: Buffer): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run += 1) {
    const before = threadCpuMs();
    target.run(input);
    least = Math.min(least, threadCpuMs() - before);
  }
  return least;
}
