/** Links, anchors and file names of the documentation are valid, and every page is in an index. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const notOurs = new Set(["node_modules", "dist", "bundle", "coverage", "data"]);

/** The files below a folder, as paths from the root with forward slashes. */
function filesBelow(folder: string): string[] {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (!entry.isDirectory()) return [file];
    return notOurs.has(entry.name) ? [] : filesBelow(file);
  });
}

const rootPages = fs.readdirSync(root).filter((file) => file.endsWith(".md"));
const pages = [...rootPages, ...["docs", "deploy", "examples"].flatMap(filesBelow)].filter((file) =>
  file.endsWith(".md"),
);

/** The text without code blocks, in which brackets are no links and `#` is no heading. */
function proseOf(page: string): string {
  return fs.readFileSync(path.join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
}

/** Link targets in Markdown and in HTML, without code spans. */
function linksIn(page: string): string[] {
  const prose = proseOf(page).replaceAll(/`[^`\n]*`/g, "`");
  const found = [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/\s(?:href|src)="([^"]+)"/g)];
  return found.map(([, target = ""]) => target);
}

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-");
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat += 1) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
}

function problemOf(page: string, link: string): string[] {
  const [, to = "", anchor] = /^([^#]*)(?:#(.*))?$/.exec(link) ?? [];
  const file = to === "" ? page : path.posix.join(path.posix.dirname(page), decodeURI(to));
  if (!fs.existsSync(path.join(root, file))) return [`${link}: no such file`];
  if (anchor === undefined) return [];
  return file.endsWith(".md") && anchorsOf(file).has(decodeURIComponent(anchor))
    ? []
    : [`${link}: no such heading`];
}

describe("links", () => {
  it.each(pages)("%s has no broken link", (page) => {
    const relative = linksIn(page).filter((link) => !/^[a-z]+:/i.test(link));
    expect(relative.flatMap((link) => problemOf(page, link))).toEqual([]);
  });

  it.each(pages.filter((page) => page !== "CHANGELOG.md"))("%s names existing files", (page) => {
    const spans = [...proseOf(page).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
    const paths = spans.filter((span) =>
      /^(?:packages|test|scripts|bench|examples|deploy|docs)\/[\w./-]+$/.test(span),
    );
    expect(paths.filter((file) => !fs.existsSync(path.join(root, file)))).toEqual([]);
  });

  it("lead to existing pages where sources, scripts and settings name a page of docs/", () => {
    const named = ["packages", "scripts", "test", "deploy", "examples", "bench"].flatMap((folder) =>
      filesBelow(folder)
        .filter((file) => /\.(?:[cm]?[jt]sx?|ya?ml|service|conf|cfg|sh|dockerignore)$/.test(file))
        .flatMap((file) => {
          const text = fs.readFileSync(path.join(root, file), "utf8");
          return [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => ({ file, page }));
        }),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ page }) => !fs.existsSync(path.join(root, page)))).toEqual([]);
  });
});

describe("the index", () => {
  const indexes = ["docs/README.md", "docs/decisions/README.md"];
  const listed = new Set(
    indexes.flatMap((index) =>
      linksIn(index).map((link) => path.posix.join(path.posix.dirname(index), link.replace(/#.*$/, ""))),
    ),
  );

  it("has every page of docs/", () => {
    const missing = pages.filter((page) => page.startsWith("docs/") && !listed.has(page));
    expect(missing).toEqual(["docs/README.md"]);
  });
});
