/**
 * One check of a value. A verdict is no, unknown or yes: what is not evaluated (an expression, another format, a
 * reference that leads nowhere) is unknown, so that `not`, `oneOf` and `if` around it do not turn it into a no.
 */
import { limits } from "../limits.ts";
import type { JsonObject } from "../outcome.ts";
import { pointerPart } from "./pointer.ts";

export const no = 0;
export const unknown = 1;
export const yes = 2;
export type Verdict = typeof no | typeof unknown | typeof yes;

export type Check = (value: unknown, run: Run) => Verdict;

export type Compile = (schema: unknown) => Check;
/** Makes the check of one keyword from what the schema gives it, and from the schema around it. */
export type Keyword = (given: never, compile: Compile, schema: JsonObject) => Check;

export function lower(one: Verdict, other: Verdict): Verdict {
  return one < other ? one : other;
}

export interface SchemaProblem {
  /** JSON pointer to the place; "" is the value as a whole. */
  readonly path: string;
  /** The keyword that it fails; `steps` where checking took too long. */
  readonly keyword: string;
  /** What is wrong, to be read after the name of the place: "must be an integer". */
  readonly message: string;
  /** What the place would take: types of `type`, written values of `enum` and `const`. */
  readonly expected?: readonly string[];
}

export class TooComplex extends RangeError {
  override readonly name = "TooComplex";
}

const mostSteps = limits.argumentCheckSteps.max;
const mostProblems = 20;
/** Frames of the stack: enough for the deepest arguments in the deepest schema, and far from its end. */
const mostNested = 1_000;

export class Run {
  /** Left out where only the verdict is wanted: the first no ends it then. */
  problems: SchemaProblem[] | undefined;
  /** References followed since the last step into the value: a cycle of them leads nowhere. */
  references = 0;
  readonly #path: (string | number)[] = [];
  #steps = 0;
  #nested = 0;

  constructor(problems: SchemaProblem[] | undefined) {
    this.problems = problems;
  }

  /** No more is to be learnt: the verdict is a no, and enough has been said about it. */
  get ended(): boolean {
    return this.problems === undefined || this.problems.length >= mostProblems;
  }

  get atTop(): boolean {
    return this.#path.length === 0;
  }

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > mostSteps) throw new TooComplex("too complex to check");
  }

  /** Checks the same value by another schema. */
  within(check: Check, value: unknown): Verdict {
    this.#nested += 1;
    if (this.#nested > mostNested) throw new TooComplex("nested too deeply to check");
    const verdict = check(value, this);
    this.#nested -= 1;
    return verdict;
  }

  /** Checks a member of an object or an item of a list. */
  at(key: string | number, check: Check, value: unknown): Verdict {
    const followed = this.references;
    this.references = 0;
    this.#path.push(key);
    const verdict = this.within(check, value);
    this.#path.pop();
    this.references = followed;
    return verdict;
  }

  fail(keyword: string, message: string, expected?: readonly string[]): typeof no {
    if (!this.ended) {
      const path = this.pointer();
      this.problems?.push(
        expected === undefined ? { path, keyword, message } : { path, keyword, message, expected },
      );
    }
    return no;
  }

  failAt(key: string | number, keyword: string, message: string): typeof no {
    this.#path.push(key);
    this.fail(keyword, message);
    this.#path.pop();
    return no;
  }

  pointer(): string {
    return this.#path.map((key) => `/${pointerPart(String(key))}`).join("");
  }

  /** The verdict of one schema, and what it alone complains of. */
  apart(check: Check, value: unknown): { verdict: Verdict; problems: SchemaProblem[] } {
    const { problems } = this;
    const own: SchemaProblem[] | undefined = problems === undefined || this.ended ? undefined : [];
    this.problems = own;
    const verdict = this.within(check, value);
    this.problems = problems;
    return { verdict, problems: own ?? [] };
  }

  /** Only the verdict: what a schema under `not` or `if` complains of is nothing to say. */
  silently(check: Check, value: unknown): Verdict {
    const { problems } = this;
    this.problems = undefined;
    const verdict = this.within(check, value);
    this.problems = problems;
    return verdict;
  }

  say(problems: readonly SchemaProblem[]): void {
    const room = mostProblems - (this.problems?.length ?? mostProblems);
    this.problems?.push(...problems.slice(0, room));
  }
}
