/** Renders a tool's result: text as text, JSON as a tree, images as images. */
import type { CallReply } from "@tendon/protocol";
import { useState } from "react";
import { type Key, useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { CodeBlock } from "./copy.tsx";
import { Icon } from "./icon.tsx";
import { JsonView } from "./json-view.tsx";
import { answeredFalse } from "./tool-names.ts";

type Part = CallReply["result"]["content"][number];

const heads = {
  ok: { key: "outcome.ok", ink: "text-ok", icon: "check" },
  false: { key: "outcome.false", ink: "text-warn", icon: "alert" },
  error: { key: "outcome.tool_error", ink: "text-bad", icon: "alert" },
} as const satisfies Record<string, { key: Key; ink: string; icon: string }>;

export function ToolResult({ reply }: { readonly reply: CallReply }) {
  const { t, duration } = useI18n();
  const [raw, setRaw] = useState(false);
  const { tool, result, durationMs } = reply;
  const isFalse = answeredFalse(tool, onlyText(result.content));
  const { key, ink, icon } = heads[result.isError ? "error" : isFalse ? "false" : "ok"];
  return (
    <div role="status" className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <p className={`flex items-center gap-1.5 text-sm font-medium ${ink}`}>
          <Icon name={icon} size={14} />
          {t(key)}
          <span className="font-normal text-soft">{duration(durationMs)}</span>
        </p>
        <Button look="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {t("result.raw")}
        </Button>
      </div>
      {raw ? (
        <CodeBlock text={JSON.stringify(result, null, 2)} label={t("result.raw")} />
      ) : (
        <ResultParts content={result.content} />
      )}
    </div>
  );
}

/** The text of a result that consists of one text. */
export function onlyText(content: readonly Part[]): string | undefined {
  const [first, second] = content;
  const text = first?.["type"] === "text" && second === undefined ? first["text"] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** `picture`: the address of an image that the content only mentions. */
export function ResultParts(props: { readonly content: readonly Part[]; readonly picture?: string }) {
  return props.content.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a result never change their order
    <ResultPart key={at} part={part} picture={props.picture} />
  ));
}

function ResultPart({ part, picture }: { readonly part: Part; readonly picture: string | undefined }) {
  const { type, text, data, mimeType } = part;
  if (type === "image" && typeof data === "string") {
    const kind =
      typeof mimeType === "string" && /^image\/(png|jpeg|gif|webp|bmp)$/.test(mimeType)
        ? mimeType
        : "image/jpeg";
    return <Picture src={`data:${kind};base64,${data}`} />;
  }
  if (type === "image") return <Picture src={picture} />;
  if (type === "text" && typeof text === "string") {
    const value = jsonIn(text);
    if (value !== undefined) return <JsonView value={value} />;
    return <p className="text-base break-words whitespace-pre-wrap">{text}</p>;
  }
  return <JsonView value={part} />;
}

/** `src`: `undefined` if the gateway did not store the picture. */
function Picture({ src }: { readonly src: string | undefined }) {
  const { t } = useI18n();
  const [gone, setGone] = useState(false);
  if (gone || src === undefined) return <p className="text-soft">{t("call.pictureGone")}</p>;
  return (
    <img
      src={src}
      alt={t("result.picture")}
      onError={() => setGone(true)}
      className="max-h-96 w-full rounded-lg border border-line object-contain"
    />
  );
}

/** Only objects and arrays are shown as a tree; a plain `true` or number stays text. */
export function jsonIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
