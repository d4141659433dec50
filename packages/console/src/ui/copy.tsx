import { useI18n } from "../i18n/i18n.tsx";
import { Button, IconButton } from "./button.tsx";
import { useMoment } from "./time.tsx";

/** Without TLS, a page that is not on localhost has no clipboard API. It then copies with `execCommand`. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text).catch(() => copyBySelection(text));
    return;
  }
  copyBySelection(text);
}

function copyBySelection(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.className = "sr-only";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const { t } = useI18n();
  const [copied, said] = useMoment();
  const copy = () => void copyText(text).then(said);
  const name = copied ? t("action.copied") : (label ?? t("action.copy"));
  if (label === undefined) return <IconButton icon={copied ? "check" : "copy"} label={name} onClick={copy} />;
  return (
    <Button icon={copied ? "check" : "copy"} onClick={copy}>
      {name}
    </Button>
  );
}

export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure aria-label={label} className="relative rounded-lg border border-line bg-raised">
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
        tabIndex={0}
        className="overflow-x-auto rounded-lg p-3 font-mono text-sm leading-relaxed"
      >
        {text}
        {/* Space for the button, so that it never covers the end of a line. */}
        <span aria-hidden="true" className="inline-block w-9" />
      </pre>
      <span className="absolute top-1.5 right-1.5 rounded-lg bg-raised">
        <CopyButton text={text} />
      </span>
    </figure>
  );
}
