/** The guides that came with the gateway: nothing is fetched from elsewhere. */
const files = import.meta.glob<string>("../../../../../docs/*.md", {
  query: "?url",
  import: "default",
  eager: true,
});

const byName = new Map(
  Object.entries(files).map(([file, url]) => [file.replace(/^.*\/|\.md$/g, ""), url] as const),
);

/** Where the text of a guide is; `undefined` where there is no such guide. */
export function guideFile(name: string): string | undefined {
  return byName.get(name);
}

export type LinkTarget =
  | { readonly kind: "here"; readonly hash: string }
  | { readonly kind: "guide"; readonly name: string; readonly hash: string }
  | { readonly kind: "elsewhere"; readonly href: string }
  /** A file of the repository that does not come with the page. */
  | { readonly kind: "file"; readonly path: string };

/** Where a link in a guide leads, seen from the page. */
export function targetOf(href: string): LinkTarget {
  if (href.startsWith("#")) return { kind: "here", hash: href };
  if (/^https?:\/\//.test(href)) return { kind: "elsewhere", href };
  const [, name = "", hash = ""] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (byName.has(name)) return { kind: "guide", name, hash };
  const path = href.startsWith("../") ? href.slice(3) : `docs/${href}`;
  return { kind: "file", path };
}
