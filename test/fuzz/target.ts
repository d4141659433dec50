import type fc from "fast-check";

/** One decoder, called directly. */
export interface Target {
  readonly name: string;
  readonly seeds: readonly Buffer[];
  /** What the gateway passes to it at most. */
  readonly maxBytes: number;
  /** For what is not read from a network: the operator's own file may take longer than the promise for each input. */
  readonly mostCpuMs?: number;
  /** Inputs made by rules, in addition to changed seeds. */
  readonly arbitrary?: fc.Arbitrary<Buffer>;
  /**
   * Returns the outcome, such as `ok` or `invalid`; text after a colon tells cases apart, and is not reported. Throws
   * if the input breaks a promise of the decoder.
   */
  run(input: Buffer): string;
}

/** A promise of a decoder or of the gateway is broken. */
class Broken extends Error {
  override readonly name = "Broken";
}

export function must(holds: boolean, promise: string): void {
  if (!holds) throw new Broken(promise);
}
