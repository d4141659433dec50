import { type ByteText, cutAtNul, wire } from "./byte-text.ts";

/**
 * Parses JSON as the device's library does. It needs its own parser, because the library's differences
 * from JSON.parse are visible on the wire: keys match without regard to ASCII case and the first duplicate
 * wins, bytes after the value are ignored, any byte up to 0x20 is white space, control characters may stand in
 * strings, a NUL ends a string, numbers go through strtod and saturate to int32, a lone surrogate or the
 * 1001st nested container fails the whole document.
 */
export type CjsonNode =
  | { readonly kind: "null" }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "string"; readonly value: ByteText }
  | { readonly kind: "array"; readonly items: readonly CjsonNode[] }
  | { readonly kind: "object"; readonly members: readonly CjsonMember[] };

interface CjsonMember {
  readonly key: ByteText;
  readonly value: CjsonNode;
}

const nestingLimit = 1000;
const byteOrderMark = "\u00ef\u00bb\u00bf";
const strtod = /-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const simpleEscapes: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** A C string, up to its first NUL (cJSON_Parse). Undefined when the library would return a null pointer. */
export function parseCjson(input: ByteText): CjsonNode | undefined {
  return new Reader(cutAtNul(input)).document();
}

/** All bytes (cJSON_ParseWithLength): a NUL is white space outside strings, and ends the string inside. */
export function parseCjsonByLength(input: ByteText): CjsonNode | undefined {
  return new Reader(input).document();
}

/** The member `key` (ASCII) of an object, else undefined. */
export function member(node: CjsonNode | undefined, key: string): CjsonNode | undefined {
  if (node?.kind !== "object") return undefined;
  const wanted = foldCase(key);
  return node.members.find((candidate) => candidate.key === key || foldCase(candidate.key) === wanted)?.value;
}

export function stringMember(node: CjsonNode | undefined, key: string): ByteText | undefined {
  const value = member(node, key);
  return value?.kind === "string" ? value.value : undefined;
}

/** The integer beside every number: truncated toward zero, saturated to 32 bits. */
export function toInt32(value: number): number {
  if (value >= 2147483647) return 2147483647;
  if (value <= -2147483648) return -2147483648;
  return Math.trunc(value) + 0;
}

function foldCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

class Reader {
  readonly #input: string;
  #at = 0;
  #depth = 0;

  constructor(input: ByteText) {
    this.#input = input;
  }

  document(): CjsonNode | undefined {
    if (this.#input.startsWith(byteOrderMark)) this.#at = byteOrderMark.length;
    this.#skipSpace();
    return this.#value();
  }

  #value(): CjsonNode | undefined {
    const next = this.#input[this.#at];
    if (next === undefined) return undefined;
    if (next === '"') {
      const value = this.#string();
      return value === undefined ? undefined : { kind: "string", value };
    }
    if (next === "-" || (next >= "0" && next <= "9")) return this.#number();
    if (next === "[") return this.#array();
    if (next === "{") return this.#object();
    if (this.#word("null")) return { kind: "null" };
    if (this.#word("false")) return { kind: "boolean", value: false };
    if (this.#word("true")) return { kind: "boolean", value: true };
    return undefined;
  }

  #word(word: string): boolean {
    if (!this.#input.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #number(): CjsonNode | undefined {
    strtod.lastIndex = this.#at;
    const match = strtod.exec(this.#input);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return { kind: "number", value: Number(match[0]) };
  }

  #array(): CjsonNode | undefined {
    const items: CjsonNode[] = [];
    const complete = this.#container("]", () => {
      const item = this.#value();
      if (item === undefined) return false;
      items.push(item);
      return true;
    });
    return complete ? { kind: "array", items } : undefined;
  }

  #object(): CjsonNode | undefined {
    const members: CjsonMember[] = [];
    const complete = this.#container("}", () => {
      const key = this.#string();
      if (key === undefined) return false;
      this.#skipSpace();
      if (!this.#word(":")) return false;
      this.#skipSpace();
      const value = this.#value();
      if (value === undefined) return false;
      members.push({ key, value });
      return true;
    });
    return complete ? { kind: "object", members } : undefined;
  }

  #container(close: string, element: () => boolean): boolean {
    if (this.#depth >= nestingLimit) return false;
    this.#depth += 1;
    this.#at += 1;
    this.#skipSpace();
    if (!this.#word(close)) {
      do {
        this.#skipSpace();
        if (!element()) return false;
        this.#skipSpace();
      } while (this.#word(","));
      if (!this.#word(close)) return false;
    }
    this.#depth -= 1;
    return true;
  }

  #string(): ByteText | undefined {
    if (this.#input[this.#at] !== '"') return undefined;
    const end = this.#closingQuote();
    if (end === undefined) return undefined;
    const body = this.#input.slice(this.#at + 1, end);
    this.#at = end + 1;
    const decoded = body.includes("\\") ? decodeEscapes(body) : body;
    return decoded === undefined ? undefined : cutAtNul(decoded as ByteText);
  }

  #closingQuote(): number | undefined {
    let at = this.#at + 1;
    while (at < this.#input.length) {
      const byte = this.#input[at];
      if (byte === '"') return at;
      at += byte === "\\" ? 2 : 1;
    }
    return undefined;
  }

  #skipSpace(): void {
    while (this.#at < this.#input.length && this.#input.charCodeAt(this.#at) <= 0x20) this.#at += 1;
  }
}

function decodeEscapes(body: string): string | undefined {
  let decoded = "";
  let at = 0;
  while (at < body.length) {
    const backslash = body.indexOf("\\", at);
    if (backslash < 0) return decoded + body.slice(at);
    decoded += body.slice(at, backslash);
    const letter = body[backslash + 1] ?? "";
    if (letter === "u") {
      const literal = unicodeLiteral(body, backslash);
      if (literal === undefined) return undefined;
      decoded += literal.bytes;
      at = backslash + literal.length;
      continue;
    }
    const plain = simpleEscapes[letter];
    if (plain === undefined) return undefined;
    decoded += plain;
    at = backslash + 2;
  }
  return decoded;
}

function unicodeLiteral(
  body: string,
  start: number,
): { readonly bytes: ByteText; readonly length: number } | undefined {
  const first = hex4(body, start);
  if (first === undefined || (first >= 0xdc00 && first <= 0xdfff)) return undefined;
  if (first < 0xd800 || first > 0xdbff) return { bytes: utf8(first), length: 6 };
  if (body.slice(start + 6, start + 8) !== "\\u") return undefined;
  const second = hex4(body, start + 6);
  if (second === undefined || second < 0xdc00 || second > 0xdfff) return undefined;
  return { bytes: utf8(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)), length: 12 };
}

/** Four bytes that are not hexadecimal count as zero, so they end the string instead of failing it. */
function hex4(body: string, start: number): number | undefined {
  const digits = body.slice(start + 2, start + 6);
  if (digits.length < 4) return undefined;
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 0;
}

function utf8(codePoint: number): ByteText {
  const bytes = Buffer.from(String.fromCodePoint(codePoint), "utf8").toString("latin1");
  return wire`${bytes as ByteText}`;
}
