/** Renders a tool's result: text as text, JSON as a tree, images as images. */
import type { CallReply } from "@tendon/protocol";
import { useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { CodeBlock } from "./copy.tsx";
import { Icon } from "./icon.tsx";
import { JsonView } from "./json-view.tsx";

type Part = CallReply["result"]["content"][number];

export function ToolResult({ reply }: { readonly reply: CallReply }) {
  const { t, duration } = useI18n();
  const [raw, setRaw] = useState(false);
  const { result, durationMs } = reply;
  return (
    <div role="status" className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <p
          className={`flex items-center gap-1.5 text-sm font-medium ${result.isError ? "text-bad" : "text-ok"}`}
        >
          <Icon name={result.isError ? "alert" : "check"} size={14} />
          {t(result.isError ? "outcome.tool_error" : "outcome.ok")}
          <span className="font-normal text-soft">{duration(durationMs)}</span>
        </p>
        <Button look="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {t("result.raw")}
        </Button>
      </div>
      {raw ? (
        <CodeBlock text={JSON.stringify(result, null, 2)} label={t("result.raw")} />
      ) : (
        result.content.map((part, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a result never change their order
          <ResultPart key={at} part={part} />
        ))
      )}
    </div>
  );
}

function ResultPart({ part }: { readonly part: Part }) {
  const { t } = useI18n();
  const { type, text, data, mimeType } = part;
  if (type === "image" && typeof data === "string") {
    const kind =
      typeof mimeType === "string" && /^image\/(png|jpeg|gif|webp|bmp)$/.test(mimeType)
        ? mimeType
        : "image/jpeg";
    return (
      <img
        src={`data:${kind};base64,${data}`}
        alt={t("result.picture")}
        className="max-h-96 w-full rounded-lg border border-line object-contain"
      />
    );
  }
  if (type === "text" && typeof text === "string") {
    const value = asJson(text);
    if (value !== undefined) return <JsonView value={value} />;
    return <p className="text-base break-words whitespace-pre-wrap">{text}</p>;
  }
  return <JsonView value={part} />;
}

/** Only objects and arrays are shown as a tree; a plain `true` or number stays text. */
function asJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
