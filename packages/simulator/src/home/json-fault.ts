/**
 * What is wrong with a text that is not JSON, and where, in the words the protocol's clients know (its specification
 * quotes them). Looked for only after JSON.parse has refused; never goes deeper than its own list of open brackets.
 */
export function jsonFault(text: string): string {
  const { what, at } = new FaultFinder(text).find();
  const before = [...text.slice(0, at)].length;
  return `${what}: line 1 column ${before + 1} (char ${before})`;
}

interface Fault {
  readonly what: string;
  readonly at: number;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
const space = /[ \t\r\n]*/y;

class FaultFinder {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  find(): Fault {
    const open: ("[" | "{")[] = [];
    this.#skip(space);
    for (;;) {
      const fault = this.#value(open) ?? this.#afterValue(open);
      if (fault !== undefined) return fault;
      if (open.length === 0) return { what: "Extra data", at: this.#at };
    }
  }

  /** Up to and with the next plain value; brackets that open on the way are noted. */
  #value(open: ("[" | "{")[]): Fault | undefined {
    for (;;) {
      const from = this.#at;
      const first = this.#text[from];
      if (first === '"') return this.#string();
      if (first !== "[" && first !== "{") {
        return this.#skip(word) || this.#skip(number) ? undefined : { what: "Expecting value", at: from };
      }
      this.#at += 1;
      this.#skip(space);
      if (this.#text[this.#at] === (first === "[" ? "]" : "}")) {
        this.#at += 1;
        return undefined;
      }
      open.push(first);
      const fault = first === "{" ? this.#key() : undefined;
      if (fault !== undefined) return fault;
    }
  }

  /** Closes what is closed here and goes on to where the next value must begin. */
  #afterValue(open: ("[" | "{")[]): Fault | undefined {
    for (;;) {
      this.#skip(space);
      const inside = open.at(-1);
      if (inside === undefined) return undefined;
      const next = this.#text[this.#at];
      if (next === ",") {
        this.#at += 1;
        this.#skip(space);
        return inside === "{" ? this.#key() : undefined;
      }
      if (next !== (inside === "[" ? "]" : "}")) return { what: "Expecting ',' delimiter", at: this.#at };
      this.#at += 1;
      open.pop();
    }
  }

  #key(): Fault | undefined {
    if (this.#text[this.#at] !== '"') {
      return { what: "Expecting property name enclosed in double quotes", at: this.#at };
    }
    const fault = this.#string();
    if (fault !== undefined) return fault;
    this.#skip(space);
    if (this.#text[this.#at] !== ":") return { what: "Expecting ':' delimiter", at: this.#at };
    this.#at += 1;
    this.#skip(space);
    return undefined;
  }

  #string(): Fault | undefined {
    const begin = this.#at;
    for (let at = begin + 1; at < this.#text.length; at += 1) {
      const letter = this.#text.charCodeAt(at);
      if (letter === 0x22) {
        this.#at = at + 1;
        return undefined;
      }
      if (letter < 0x20) return { what: "Invalid control character at", at };
      if (letter !== 0x5c) continue;
      const escaped = this.#text[at + 1];
      if (escaped === undefined) break;
      if (escaped === "u") {
        if (!/^[0-9a-fA-F]{4}.$/s.test(this.#text.slice(at + 2, at + 7))) {
          return { what: "Invalid \\uXXXX escape", at: at + 1 };
        }
        at += 5;
      } else if ('"\\/bfnrt'.includes(escaped)) at += 1;
      else return { what: "Invalid \\escape", at };
    }
    return { what: "Unterminated string starting at", at: begin };
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found !== "";
  }
}
