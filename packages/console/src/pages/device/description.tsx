/**
 * A tool's description with its Markdown. The text comes from a device, so it stays text: no HTML, no pictures, and a
 * link is followed only over HTTP and shows its host.
 */
import { type ReactNode, useMemo } from "react";
import { type Block, type Inline, type InlineText, readInline, readMarkdown } from "../guide/markdown.ts";

/** Text beyond this length stays as it is, because a device may send any amount of it. */
const maxParsed = 4_000;
const maxPreview = 300;

/** The text does not change while it is shown, so its position is a stable key. */
function keyed<Part>(parts: readonly Part[]): (readonly [number, Part])[] {
  return [...parts.entries()];
}

export function Description({ text }: { readonly text: string }) {
  const blocks = useMemo(() => readMarkdown(text.slice(0, maxParsed), "device"), [text]);
  return (
    <div className="flex flex-col gap-2 text-sm break-words text-soft">
      {keyed(blocks).map(([at, block]) => (
        <BlockView key={at} block={block} />
      ))}
      {text.length > maxParsed && <p className="whitespace-pre-line">{text.slice(maxParsed)}</p>}
    </div>
  );
}

/** The beginning of a description as one line of plain text. */
export function previewOf(text: string): string {
  const line = text.trim().slice(0, maxPreview).replaceAll(/\s+/g, " ");
  return readInline(line, "device").map(plain).join("");
}

function plain(part: Inline): string {
  return part.kind === "link" ? part.parts.map(plain).join("") : part.text;
}

function BlockView({ block }: { readonly block: Block }): ReactNode {
  switch (block.kind) {
    case "heading":
      return (
        <p className="font-medium text-text">
          <Line text={block.text} />
        </p>
      );
    case "paragraph":
      return (
        <p className="whitespace-pre-line">
          <Line text={block.text} />
        </p>
      );
    case "code":
      return (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
          tabIndex={0}
          className="overflow-x-auto rounded-lg bg-raised p-2 font-mono text-xs"
        >
          {block.text}
        </pre>
      );
    case "list": {
      const Tag = block.ordered ? "ol" : "ul";
      return (
        <Tag className={`flex flex-col gap-1 pl-5 ${block.ordered ? "list-decimal" : "list-disc"}`}>
          {keyed(block.items).map(([at, item]) => (
            <li key={at}>
              <Line text={item} />
            </li>
          ))}
        </Tag>
      );
    }
    case "table":
      return (
        <ul className="flex flex-col gap-1">
          {keyed([block.head, ...block.rows]).map(([at, cells]) => (
            <li key={at} className={at === 0 ? "font-medium text-text" : ""}>
              {keyed(cells).map(([column, cell]) => (
                <span key={column}>
                  {column > 0 && " · "}
                  <Line text={cell} />
                </span>
              ))}
            </li>
          ))}
        </ul>
      );
  }
}

function Line({ text }: { readonly text: InlineText }): ReactNode {
  return keyed(text).map(([at, part]) => <Part key={at} part={part} />);
}

function Part({ part }: { readonly part: Inline }): ReactNode {
  switch (part.kind) {
    case "text":
      return part.text;
    case "code":
      return <code className="rounded bg-raised px-1 py-0.5 font-mono text-[0.92em]">{part.text}</code>;
    case "strong":
      return <strong className="font-semibold text-text">{part.text}</strong>;
    case "em":
      return <em>{part.text}</em>;
    case "link":
      return <WebLink href={part.href} text={part.parts} />;
  }
}

function WebLink({ href, text }: { readonly href: string; readonly text: InlineText }) {
  const label = <Line text={text} />;
  const host = /^https?:\/\//i.test(href) && URL.canParse(href) ? new URL(href).host : undefined;
  if (host === undefined) return label;
  return (
    <>
      <a
        href={href}
        target="_blank"
        rel="noreferrer noopener"
        className="rounded text-accent-deep underline underline-offset-2"
      >
        {label}
      </a>{" "}
      ({host})
    </>
  );
}
