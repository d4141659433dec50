import { useEffect, useState, useSyncExternalStore } from "react";
import { useI18n } from "../i18n/i18n.tsx";

/** One timer updates every relative time on the page. */
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** A relative time such as “3 min ago”, updated as it passes, with the exact time on hover. */
export function Ago({ at, className = "" }: { readonly at: string; readonly className?: string }) {
  const { ago, exact } = useI18n();
  const when = new Date(at);
  const elapsed = Math.max(0, Math.max(useNow(), Date.now()) - when.getTime());
  return (
    <time dateTime={at} title={exact(when)} className={className}>
      {ago(elapsed < 5_000 ? 0 : elapsed)}
    </time>
  );
}

/** When a queued call expires, such as “Expires in 3 hr.”, with the exact time on hover. */
export function Expiry({ at }: { readonly at: string }) {
  const { t, ahead, exact } = useI18n();
  const when = new Date(at);
  const left = Math.max(0, when.getTime() - Math.max(useNow(), Date.now()));
  return (
    <time dateTime={at} title={exact(when)}>
      {t("queue.expires", { when: ahead(left) })}
    </time>
  );
}

export function Clock({ at }: { readonly at: string }) {
  const { clock, exact } = useI18n();
  const when = new Date(at);
  return (
    <time dateTime={at} title={exact(when)}>
      {clock(when)}
    </time>
  );
}

/** True for a moment after each change, for example to show “Copied”. */
export function useMoment(ms = 1_600): readonly [boolean, () => void] {
  const [on, setOn] = useState(false);
  useEffect(() => {
    if (!on) return;
    const end = setTimeout(() => setOn(false), ms);
    return () => clearTimeout(end);
  }, [on, ms]);
  return [on, () => setOn(true)];
}
