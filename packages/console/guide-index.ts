/** Reads the titles and headings of the documentation when the console is built, for the list of guides and its search. */
import fs from "node:fs";
import path from "node:path";
import type { Plugin } from "vite";
import { type InlineText, readMarkdown } from "./src/pages/guide/markdown.ts";

const repository = path.resolve(import.meta.dirname, "../..");
const folders = ["docs", "docs/guides", "docs/guides/clients", "docs/operations", "docs/reference"];
const moduleId = "virtual:guide-index";

export function guideIndex(): Plugin {
  return {
    name: "guide-index",
    resolveId: (id) => (id === moduleId ? `\0${moduleId}` : undefined),
    load(id) {
      if (id !== `\0${moduleId}`) return undefined;
      const files = folders.flatMap((folder) =>
        fs
          .readdirSync(path.join(repository, folder))
          .filter((name) => name.endsWith(".md") && name !== "README.md")
          .map((name) => `${folder}/${name}`),
      );
      for (const file of files) this.addWatchFile(path.join(repository, file));
      return `export const entries = ${JSON.stringify(inReadingOrder(files).map(entryOf))};`;
    },
  };
}

/** In the order of docs/README.md, which leads from the first steps to the details. */
function inReadingOrder(files: readonly string[]): string[] {
  const index = fs.readFileSync(path.join(repository, "docs/README.md"), "utf8");
  const position = (file: string) => {
    const at = index.indexOf(`(${file.replace(/^docs\//, "")})`);
    return at === -1 ? index.length : at;
  };
  return [...files].sort((a, b) => position(a) - position(b) || a.localeCompare(b));
}

function entryOf(file: string) {
  const blocks = readMarkdown(fs.readFileSync(path.join(repository, file), "utf8"));
  const headings = blocks.filter((block) => block.kind === "heading");
  const [title] = headings;
  return {
    path: file,
    title: title === undefined ? file : plain(title.text),
    headings: headings
      .filter(({ level }) => level === 2 || level === 3)
      .map(({ slug, text }) => ({ slug, text: plain(text) })),
  };
}

function plain(text: InlineText): string {
  return text.map((part) => (part.kind === "link" ? plain(part.parts) : part.text)).join("");
}
