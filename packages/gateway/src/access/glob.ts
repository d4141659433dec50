/**
 * Patterns of settings: `*` is any text, also none; every other character is itself. No regular expressions: a
 * pattern costs no more than a search for its parts, whatever the text.
 */
export type Glob = (text: string) => boolean;

export function compileGlob(pattern: string): Glob {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
      return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

export function isGlob(pattern: string): boolean {
  return pattern.includes("*");
}
