/**
 * What is wrong with a text that is not JSON, and where, in the words the protocol's clients know (its specification
 * quotes them). Used only after JSON.parse has refused: the messages of the runtime differ from version to version.
 */
export function jsonFault(text: string): string {
  const [what, at] = findFault(text);
  const before = [...text.slice(0, at)].length;
  return `${what}: line 1 column ${before + 1} (char ${before})`;
}

const space = /[ \t\r\n]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A part of a string that is right. The specification's reader wants a character after the digits of an escape. */
const stringPart = /[^"\\\p{Cc}]+|[\x7f-\x9f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}(?=.)/suy;

function findFault(text: string): [what: string, at: number] {
  let at = 0;
  let fault: [string, number] | undefined;
  /** Brackets that are open. A list instead of recursion: a line may open half a million. */
  const open: string[] = [];
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length ?? 0;
    at += length;
    return length > 0;
  };
  const expect = (character: string, what: string): void => {
    if (fault !== undefined) return;
    if (text[at] === character) at += 1;
    else fault = [what, at];
    skip(space);
  };
  const readString = (): void => {
    const begin = at;
    at += 1;
    while (skip(stringPart));
    const next = text[at];
    if (next === '"') at += 1;
    else if (next === undefined || text.slice(at) === "\\")
      fault = ["Unterminated string starting at", begin];
    else if (next !== "\\") fault = ["Invalid control character at", at];
    else if (text[at + 1] === "u") fault = ["Invalid \\uXXXX escape", at + 1];
    else fault = ["Invalid \\escape", at];
  };
  const readKey = (): void => {
    if (text[at] === '"') readString();
    else fault = ["Expecting property name enclosed in double quotes", at];
    skip(space);
    expect(":", "Expecting ':' delimiter");
  };

  skip(space);
  while (fault === undefined) {
    const first = text[at] ?? "";
    if (first === "[" || first === "{") {
      open.push(first === "[" ? "]" : "}");
      at += 1;
      skip(space);
      if (text[at] !== open.at(-1)) {
        if (first === "{") readKey();
        continue;
      }
    } else if (first === '"') readString();
    else if (!skip(scalar)) fault = ["Expecting value", at];
    skip(space);
    while (fault === undefined && open.length > 0 && text[at] === open.at(-1)) {
      open.pop();
      at += 1;
      skip(space);
    }
    if (open.length === 0) fault ??= ["Extra data", at];
    expect(",", "Expecting ',' delimiter");
    if (fault === undefined && open.at(-1) === "}") readKey();
  }
  return fault;
}
