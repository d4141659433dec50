/** The fields of one CSV line; `undefined` when its quotes are unbalanced or misplaced. */
export function splitCsvLine(line: string): string[] | undefined {
  const fields: string[] = [];
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;
  for (;;) {
    const match = field.exec(line);
    if (match === null) return undefined;
    const [, quoted, bare = "", end] = match;
    fields.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"'));
    if (end === "") return fields;
  }
}
