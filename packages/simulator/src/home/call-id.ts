/**
 * A call's id goes back exactly as it came. A number that JavaScript cannot hold exactly (a 64-bit id, 1e400) is
 * taken from the line's own text. `undefined` for what is no id.
 */
export function idText(id: unknown, line: string): string | undefined {
  if (typeof id === "string") return JSON.stringify(id);
  if (typeof id !== "number") return undefined;
  return Number.isSafeInteger(id) ? String(id) : numberAt("id", line);
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g;

/** The last number under this key of the outermost object, as it is written. The line is known to be JSON. */
function numberAt(key: string, line: string): string | undefined {
  let depth = 0;
  let previous = "";
  let name = "";
  let found: string | undefined;
  for (const [text] of line.matchAll(token)) {
    if (text === "{" || text === "[") depth += 1;
    else if (text === "}" || text === "]") depth -= 1;
    else if (text === ":") name = depth === 1 ? (JSON.parse(previous) as string) : "";
    else if (text !== "," && previous === ":" && name === key) found = text;
    previous = text;
  }
  return found;
}
