import { useWords } from "../i18n/i18n.tsx";
import { useLive } from "../live/live-context.tsx";
import { Icon } from "../ui/icon.tsx";
import { Clock } from "../ui/time.tsx";

/** Says when what is shown is no longer live, and since when. */
export function ConnectionBanner() {
  const { t } = useWords();
  const state = useLive();
  return (
    <div role="status" aria-live="polite" className="sticky top-0 z-20">
      {state.kind === "reconnecting" && (
        <p className="flex items-center justify-center gap-2 bg-warn-soft px-4 py-2 text-sm text-warn">
          <Icon name="refresh" size={14} />
          <span>
            {t("live.reconnecting")} <Clock at={new Date(state.since).toISOString()} />
          </span>
        </p>
      )}
    </div>
  );
}
