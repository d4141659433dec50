/** The guides, all served by the gateway. */
import { queryOptions } from "@tanstack/react-query";
import { fileText } from "../../api/client.ts";

const files = import.meta.glob<string>(
  [
    "../../../../../docs/{architecture,glossary}.md",
    "../../../../../docs/{guides,reference,operations}/*.md",
    "../../../../../docs/guides/clients/*.md",
  ],
  { query: "?url", import: "default", eager: true },
);

export interface GuideFile {
  /** Its place in the repository, such as `docs/guides/voice.md`. */
  readonly path: string;
  readonly url: string;
  /** The language of its text: `en`, or that of a translation such as `home.es.md`. */
  readonly language: string;
}

const byName = new Map(
  Object.entries(files).map(([file, url]) => {
    const path = file.replace(/^(\.\.\/)+/, "");
    const [, language = "en"] = /\.(es|vi|zh)\.md$/.exec(path) ?? [];
    return [path.replace(/^.*\/|\.md$/g, ""), { path, url, language }] as const;
  }),
);
const nameOf = new Map([...byName].map(([name, { path }]) => [path, name]));

/** The file of a guide; `undefined` if there is no such guide. */
export function guideFile(name: string): GuideFile | undefined {
  return byName.get(name);
}

/** The name of the guide at this place in the repository. */
export function nameOfGuide(path: string): string | undefined {
  return nameOf.get(path);
}

export function guideTextQuery({ url }: GuideFile) {
  return queryOptions({
    queryKey: ["guide", url],
    queryFn: ({ signal }) => fileText(url, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export type LinkTarget =
  | { readonly kind: "here"; readonly hash: string }
  | { readonly kind: "guide"; readonly name: string; readonly hash: string }
  | { readonly kind: "external"; readonly href: string }
  /** A file of the repository that the gateway does not serve. */
  | { readonly kind: "file"; readonly path: string };

/** Resolves a link in the guide at `from` for the console. */
export function targetOf(href: string, from: string): LinkTarget {
  if (href.startsWith("#")) return { kind: "here", hash: href };
  if (/^https?:\/\//.test(href)) return { kind: "external", href };
  const { pathname, hash } = new URL(href, new URL(from, "file:///"));
  const path = pathname.slice(1);
  const name = nameOf.get(path);
  return name === undefined ? { kind: "file", path } : { kind: "guide", name, hash };
}
