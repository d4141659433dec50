import { useEffect, useRef, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { IconButton } from "./button.tsx";
import { useMoment } from "./time.tsx";

/** Returns whether the text is in the clipboard. Without TLS, a page that is not on localhost has no clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard === undefined) return copyBySelection(text);
  return await navigator.clipboard.writeText(text).then(
    () => true,
    () => copyBySelection(text),
  );
}

/**
 * Copies with `execCommand`, which needs a selection. The selection is a range, because a dialog would take the focus
 * back from a field outside of it.
 */
function copyBySelection(text: string): boolean {
  const selected = document.createElement("span");
  selected.textContent = text;
  selected.className = "sr-only whitespace-pre";
  document.body.append(selected);
  let copied = false;
  const fill = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    copied = event.clipboardData !== null;
  };
  document.addEventListener("copy", fill);
  selectText(selected);
  try {
    return document.execCommand("copy") && copied;
  } finally {
    document.removeEventListener("copy", fill);
    window.getSelection()?.removeAllRanges();
    selected.remove();
  }
}

function selectText(element: Element): void {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = window.getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}

export function CodeBlock(props: {
  readonly text: string;
  readonly label: string;
  /** Whether the text could not be copied, so that it is selected from the start. */
  readonly notCopied?: boolean;
}) {
  const { text, label, notCopied = false } = props;
  const { t } = useI18n();
  const [copied, said] = useMoment();
  const [failed, setFailed] = useState(notCopied);
  const shown = useRef<HTMLElement>(null);
  useEffect(() => {
    if (failed && shown.current !== null) selectText(shown.current);
  }, [failed]);
  const copy = async () => {
    setFailed(false);
    if (await copyText(text)) said();
    else setFailed(true);
  };
  return (
    <figure aria-label={label} className="rounded-lg border border-line bg-raised">
      <div className="flex items-start">
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
          tabIndex={0}
          className="min-w-0 flex-1 overflow-x-auto rounded-lg p-3 font-mono text-sm leading-relaxed"
        >
          <code ref={shown} className="font-mono">
            {text}
          </code>
        </pre>
        <span className="p-1.5">
          <IconButton
            icon={copied ? "check" : "copy"}
            label={copied ? t("action.copied") : t("action.copy")}
            onClick={() => void copy()}
          />
        </span>
      </div>
      <p role="status" className="px-3 pb-2 text-sm text-warn empty:hidden">
        {failed && t("action.notCopied")}
      </p>
    </figure>
  );
}
