import type { Device } from "@tendon/protocol";
import { useI18n } from "../i18n/i18n.tsx";
import { Icon } from "./icon.tsx";
import { useNow } from "./time.tsx";

/** Levels older than this are shown as out of date. */
const freshMs = 5 * 60_000;

/** Battery and signal, as the device last reported them. */
export function Vitals({ vitals }: { readonly vitals: Device["vitals"] }) {
  const { t, ago } = useI18n();
  const now = useNow();
  if (vitals === null) return null;
  const age = Math.max(0, now - Date.parse(vitals.at));
  const stale = age > freshMs;
  return (
    <span
      title={t("device.asOf", { when: ago(age) })}
      className={`flex items-center gap-3 ${stale ? "text-soft" : ""}`}
    >
      {vitals.battery !== null && <Battery {...vitals.battery} />}
      {vitals.signal !== null && <Signal strength={vitals.signal} />}
    </span>
  );
}

function Battery({ level, charging }: { readonly level: number; readonly charging: boolean }) {
  const { t } = useI18n();
  const tone = level <= 15 && !charging ? "text-bad" : level <= 30 && !charging ? "text-warn" : "";
  return (
    <span className={`flex items-center gap-1 ${tone}`}>
      <svg aria-hidden="true" width="20" height="12" viewBox="0 0 20 12" fill="none" stroke="currentColor">
        <rect x="0.7" y="1.2" width="16" height="9.6" rx="2" strokeWidth="1.3" />
        <path d="M18.8 4.500v3" strokeWidth="1.8" strokeLinecap="round" />
        <rect
          x="2.5"
          y="3"
          width={(12.4 * Math.min(100, Math.max(4, level))) / 100}
          height="6"
          rx="0.8"
          fill="currentColor"
          stroke="none"
        />
      </svg>
      <span>
        {level} %{charging && <span className="sr-only"> {t("device.charging")}</span>}
      </span>
      {charging && <Icon name="bolt" size={12} />}
    </span>
  );
}

const bars: Readonly<Record<string, number>> = { strong: 3, medium: 2, fair: 2, weak: 1 };

function Signal({ strength }: { readonly strength: string }) {
  const { t } = useI18n();
  const lit = bars[strength.toLowerCase()] ?? 0;
  const label = t("device.signal", { strength });
  return (
    <svg role="img" aria-label={label} width="15" height="12" viewBox="0 0 15 12">
      <title>{label}</title>
      {[1, 2, 3].map((bar) => (
        <rect
          key={bar}
          x={(bar - 1) * 5 + 0.5}
          y={12 - bar * 4}
          width="3.5"
          height={bar * 4}
          rx="1"
          fill="currentColor"
          opacity={bar <= lit ? 1 : 0.25}
        />
      ))}
    </svg>
  );
}
