/**
 * Parses the project's own guides and the descriptions of tools: headings, paragraphs, lists, tables, code and links. It
 * is not a general Markdown parser: unknown syntax stays text, and nothing is inserted as HTML.
 */

/** Whose text it is: ours, or that of a device, whose line breaks and tags are part of the text. */
export type Source = "guide" | "device";

export type Inline =
  | { readonly kind: "text" | "code" | "strong" | "em"; readonly text: string }
  | { readonly kind: "link"; readonly href: string; readonly parts: readonly Inline[] };

export type InlineText = readonly Inline[];

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly slug: string; readonly text: InlineText }
  | { readonly kind: "paragraph"; readonly text: InlineText }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly InlineText[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | {
      readonly kind: "table";
      readonly head: readonly InlineText[];
      readonly rows: readonly (readonly InlineText[])[];
    };

const fence = /^```(\w*)\s*$/;
const heading = /^(#{1,6}) (.+)$/;
const item = /^(-|\d+\.) (.+)$/;
/** HTML comments are for the guide's authors and are not shown. */
const comment = /^<!--.*-->\s*$/;

export function readMarkdown(text: string, source: Source = "guide"): Block[] {
  const lines = text.split(/\r?\n/);
  const blocks: Block[] = [];
  let at = 0;
  const take = (wanted: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && wanted(lines[at] ?? "")) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const [, language] = fence.exec(line) ?? [];
    const [, marks = "", title = ""] = heading.exec(line) ?? [];
    if (language !== undefined) {
      at += 1;
      const code = take((next) => !next.startsWith("```"));
      at += 1;
      blocks.push({ kind: "code", language, text: code.join("\n") });
    } else if (marks !== "") {
      at += 1;
      blocks.push({
        kind: "heading",
        level: marks.length,
        slug: slugOf(title),
        text: readInline(title, source),
      });
    } else if (line.startsWith("|")) {
      blocks.push(
        table(
          take((next) => next.startsWith("|")),
          source,
        ),
      );
    } else if (item.test(line)) {
      blocks.push(
        list(
          take((next) => item.test(next) || /^\s+\S/.test(next)),
          source,
        ),
      );
    } else if (line.trim() === "" || (source === "guide" && comment.test(line))) {
      at += 1;
    } else {
      at += 1;
      const rest = take((next) => next.trim() !== "" && !startsOther(next));
      const text = readInline([line, ...rest].join(source === "guide" ? " " : "\n"), source);
      if (text.length > 0) blocks.push({ kind: "paragraph", text });
    }
  }
  return blocks;
}

function startsOther(line: string): boolean {
  return [fence, heading, item, comment].some((other) => other.test(line)) || line.startsWith("|");
}

function list(lines: readonly string[], source: Source): Block {
  const items: string[] = [];
  for (const line of lines) {
    const [, , text] = item.exec(line) ?? [];
    if (text === undefined) items.push(`${items.pop() ?? ""} ${line.trim()}`);
    else items.push(text);
  }
  return {
    kind: "list",
    ordered: /^\d/.test(lines[0] ?? ""),
    items: items.map((text) => readInline(text, source)),
  };
}

function table(lines: readonly string[], source: Source): Block {
  const cells = (line: string) =>
    line
      .replace(/^\||\|\s*$/g, "")
      .split("|")
      .map((cell) => readInline(cell.trim(), source));
  const [head = "", , ...rows] = lines;
  return { kind: "table", head: cells(head), rows: rows.map(cells) };
}

/** The anchor of a heading, as links use it. */
function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Code comes first, because no other syntax applies inside it. Images and HTML tags of a guide are removed. */
const marks =
  /`([^`]+)`|!\[[^\]]*\]\([^)]*\)|<[a-z][^>]*>|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g;

export function readInline(text: string, source: Source = "guide"): Inline[] {
  const parts: Inline[] = [];
  let from = 0;
  const plain = (until: number) => {
    const between = text.slice(from, until);
    if (between.trim() !== "" || (between !== "" && parts.length > 0))
      parts.push({ kind: "text", text: between });
  };
  for (const match of text.matchAll(marks)) {
    const [whole, code, label, href, strong, em] = match;
    plain(match.index);
    from = match.index + whole.length;
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (label !== undefined && href !== undefined)
      parts.push({ kind: "link", href, parts: readInline(label, source) });
    else if (strong !== undefined) parts.push({ kind: "strong", text: strong });
    else if (em !== undefined) parts.push({ kind: "em", text: em });
    else if (source === "device") parts.push({ kind: "text", text: whole });
  }
  plain(text.length);
  return parts;
}
