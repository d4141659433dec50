import { createContext, type ReactNode, useContext } from "react";
import { Link } from "wouter";
import { guideAddress } from "../../shell/navigation.ts";
import { CodeBlock } from "../../ui/copy.tsx";
import { targetOf } from "./guides.ts";
import type { Block, Inline, InlineText } from "./markdown.ts";

/** A guide's text does not change while it is shown, so its position is a stable key. */
function keyed<Part>(parts: readonly Part[]): (readonly [number, Part])[] {
  return [...parts.entries()];
}

/** The path of the guide that is shown: its links are relative to it. */
const GuidePath = createContext("");

interface GuideTextProps {
  readonly path: string;
  readonly language: string;
  readonly blocks: readonly Block[];
}

export function GuideText({ path, language, blocks }: GuideTextProps) {
  return (
    <GuidePath value={path}>
      <article lang={language} className="flex min-w-0 flex-col gap-4 text-base leading-relaxed">
        {keyed(blocks).map(([at, block]) => (
          <BlockView key={at} block={block} />
        ))}
      </article>
    </GuidePath>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading":
      return <Heading {...block} />;
    case "paragraph":
      return (
        <p>
          <InlineLine text={block.text} />
        </p>
      );
    case "code":
      return <CodeBlock text={block.text} label={block.language === "" ? "text" : block.language} />;
    case "list":
      return <List {...block} />;
    case "table":
      return <Table {...block} />;
  }
}

function Heading({ level, slug, text }: Extract<Block, { kind: "heading" }>) {
  const line = <InlineLine text={text} />;
  if (level === 1) return <h1 className="text-2xl font-semibold">{line}</h1>;
  if (level === 2)
    return (
      <h2 id={slug} className="mt-4 scroll-mt-4 text-xl font-semibold">
        {line}
      </h2>
    );
  return (
    <h3 id={slug} className="mt-2 scroll-mt-4 text-lg font-semibold">
      {line}
    </h3>
  );
}

function List({ ordered, items }: Extract<Block, { kind: "list" }>) {
  const Tag = ordered ? "ol" : "ul";
  return (
    <Tag className={`flex flex-col gap-1.5 pl-5 ${ordered ? "list-decimal" : "list-disc"}`}>
      {keyed(items).map(([at, text]) => (
        <li key={at}>
          <InlineLine text={text} />
        </li>
      ))}
    </Tag>
  );
}

function Table({ head, rows }: Extract<Block, { kind: "table" }>) {
  const named = head.some((cell) => cell.length > 0);
  return (
    <div className="relative overflow-x-auto rounded-lg border border-line">
      <table className="w-full text-left text-sm">
        {named && (
          <thead className="bg-raised text-soft">
            <tr>
              {keyed(head).map(([at, cell]) => (
                <th key={at} scope="col" className="px-3 py-2 font-medium">
                  <InlineLine text={cell} />
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody className="divide-y divide-line">
          {keyed(rows).map(([row, cells]) => (
            <tr key={row}>
              {keyed(cells).map(([at, cell]) => (
                <td key={at} className="px-3 py-2 align-top">
                  <InlineLine text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function InlineLine({ text }: { readonly text: InlineText }) {
  return keyed(text).map(([at, part]) => <Part key={at} part={part} />);
}

function Part({ part }: { readonly part: Inline }) {
  switch (part.kind) {
    case "text":
      return part.text;
    case "code":
      return <Code>{part.text}</Code>;
    case "strong":
      return <strong className="font-semibold">{part.text}</strong>;
    case "em":
      return <em>{part.text}</em>;
    case "link":
      return <Reference href={part.href} text={part.parts} />;
  }
}

function Code({ children }: { readonly children: ReactNode }) {
  return (
    <code className="rounded bg-raised px-1 py-0.5 font-mono text-[0.92em] break-words">{children}</code>
  );
}

const linkClass = "rounded text-accent-deep underline underline-offset-2";

function Reference({ href, text }: { readonly href: string; readonly text: InlineText }) {
  const line = <InlineLine text={text} />;
  const target = targetOf(href, useContext(GuidePath));
  switch (target.kind) {
    case "here":
      return (
        <a href={target.hash} className={linkClass}>
          {line}
        </a>
      );
    case "guide":
      return (
        <Link href={`${guideAddress(target.name)}${target.hash}`} className={linkClass}>
          {line}
        </Link>
      );
    case "external":
      return (
        <a href={target.href} target="_blank" rel="noreferrer" className={linkClass}>
          {line}
        </a>
      );
    case "file":
      return (
        <>
          {line} (<Code>{target.path}</Code>)
        </>
      );
  }
}
