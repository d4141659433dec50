/** Shows an error beside what failed: what happened and what to do next. */
import { errorTitles } from "@tendon/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ApiError } from "../api/client.ts";
import { type I18n, type Key, useI18n } from "../i18n/i18n.tsx";
import { Icon } from "./icon.tsx";

export function problemTexts(i18n: I18n, code: string): { readonly title: string; readonly next: string } {
  const known = code === "unreachable" || Object.hasOwn(errorTitles, code) ? code : "internal";
  return {
    title: i18n.t(`error.${known}` as "error.internal"),
    next: i18n.t(`next.${known}` as "next.internal"),
  };
}

/** How a call can end while it waits for its device. */
export const queueOutcomes = ["expired", "superseded", "refused"] as const;
const withLabels: ReadonlySet<string> = new Set(["ok", "tool_error", ...queueOutcomes]);

export function outcomeLabel(i18n: I18n, outcome: string): string {
  const key = `outcome.${outcome}` as Key;
  if (withLabels.has(outcome)) return i18n.t(key as "outcome.ok");
  return problemTexts(i18n, outcome).title;
}

/** What to do after a call that has not succeeded. */
export function outcomeNext(i18n: I18n, outcome: string): string {
  const found = queueOutcomes.find((each) => each === outcome);
  return found === undefined ? problemTexts(i18n, outcome).next : i18n.t(`ended.${found}`);
}

/** A call that waits for approval, or that a newer one replaced, has not failed. */
export function outcomeTone(outcome: string): "ok" | "warn" | "bad" {
  if (outcome === "ok") return "ok";
  return outcome === "approval_required" || outcome === "superseded" ? "warn" : "bad";
}

export function ProblemNote(props: {
  readonly error: unknown;
  /** The address of a name that the error suggests. */
  readonly addressOf?: (name: string) => string;
}) {
  const { error, addressOf } = props;
  const i18n = useI18n();
  const { code, detail } =
    error instanceof ApiError
      ? { code: error.code, detail: error.message }
      : { code: "internal", detail: error instanceof Error ? error.message : String(error) };
  const { title, next } = problemTexts(i18n, code);
  return (
    <Alert>
      <p className="font-medium">{title}</p>
      {detail !== "" && (
        <p className="break-words">
          {addressOf === undefined ? detail : <Detail text={detail} addressOf={addressOf} />}
        </p>
      )}
      <p className="text-text">{next}</p>
    </Alert>
  );
}

/** An error's sentence. The gateway puts names between backticks; those that it suggests become links. */
function Detail(props: { readonly text: string; readonly addressOf: (name: string) => string }) {
  const { text, addressOf } = props;
  const suggestions = text.indexOf("did you mean");
  let at = 0;
  return text.split(/(`[^`]+`)/).map((part) => {
    const start = at;
    at += part.length;
    if (!/^`[^`]+`$/.test(part)) return part;
    const name = part.slice(1, -1);
    const suggested = suggestions !== -1 && start > suggestions;
    return suggested ? (
      <Link key={start} href={addressOf(name)} className="rounded underline">
        {name}
      </Link>
    ) : (
      <code key={start} className="font-mono">
        {name}
      </code>
    );
  });
}

export function Alert({ children }: { readonly children: ReactNode }) {
  return (
    <div role="alert" className="flex gap-2 rounded-lg bg-bad-soft px-3 py-2 text-bad">
      <span className="pt-0.5">
        <Icon name="alert" size={15} />
      </span>
      <div className="min-w-0 text-sm">{children}</div>
    </div>
  );
}

/** A notice that asks the user to do something, without an error. */
export function Warning({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div role="status" className="flex gap-2 rounded-lg bg-warn-soft px-3 py-2 text-left text-warn">
      <span className="pt-0.5">
        <Icon name="alert" size={15} />
      </span>
      <div className="min-w-0 text-sm">
        <p className="font-medium">{title}</p>
        <div className="text-text">{children}</div>
      </div>
    </div>
  );
}
