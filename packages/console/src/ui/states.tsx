import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** An empty state: says what would be shown here and what to do next. */
export function Empty(props: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
}) {
  const { icon, title, children } = props;
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-3 px-4 py-16 text-center">
      <span className="flex size-11 items-center justify-center rounded-full bg-raised text-soft">
        <Icon name={icon} size={20} />
      </span>
      <h2 className="text-lg font-semibold">{title}</h2>
      <div className="flex w-full flex-col items-center gap-3 text-soft">{children}</div>
    </div>
  );
}

export function Skeleton({ className = "" }: { readonly className?: string }) {
  return <span aria-hidden="true" className={`skeleton block ${className}`} />;
}

export function SkeletonRows({ rows = 5 }: { readonly rows?: number }) {
  return (
    <div aria-hidden="true" className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, at) => at).map((at) => (
        <Skeleton key={at} className="h-6 w-full" />
      ))}
    </div>
  );
}

type Tone = "neutral" | "ok" | "warn" | "bad" | "accent";

const tones: Readonly<Record<Tone, string>> = {
  neutral: "bg-raised text-soft",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  accent: "bg-accent-soft text-accent-deep",
};

export function Badge({
  tone = "neutral",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

/** A panel. Panels are not nested. */
export function Panel(props: {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  readonly label?: string;
}) {
  const { title, actions, children, className = "", label } = props;
  return (
    <section
      {...(label === undefined ? {} : { "aria-label": label })}
      className={`rounded-xl border border-line bg-surface ${className}`}
    >
      {title !== undefined && (
        <header className="flex min-h-12 items-center justify-between gap-3 px-4 pt-2">
          <h2 className="text-base font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}
