/** One line per device: whether the action succeeded, and why not. Failures first. */
import type { Device, FleetResult } from "@tendon/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ApiError } from "../../api/client.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { Icon } from "../../ui/icon.tsx";
import { problemTexts } from "../../ui/problem.tsx";

export interface Line {
  readonly device: Pick<Device, "id" | "alias">;
  readonly ok: boolean;
  readonly text: ReactNode;
}

/** More lines than this are counted, not shown. */
const maxLines = 500;

export function Outcomes({ lines, total }: { readonly lines: readonly Line[]; readonly total: number }) {
  const { t, n } = useI18n();
  const failed = lines.filter(({ ok }) => !ok).length;
  const sorted = [...lines].sort((a, b) => Number(a.ok) - Number(b.ok)).slice(0, maxLines);
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <p role="status" className="font-medium">
        {lines.length < total
          ? t("bulk.progress", { done: lines.length, total })
          : `${n("bulk.done", lines.length - failed)}${failed === 0 ? "" : ` · ${n("bulk.failed", failed)}`}`}
      </p>
      <ul
        aria-label={t("bulk.results")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
        tabIndex={0}
        className="max-h-72 divide-y divide-line overflow-y-auto rounded-lg border border-line"
      >
        {sorted.map(({ device, ok, text }) => (
          <li key={device.id} className="grid grid-cols-[auto_minmax(0,9rem)_minmax(0,1fr)] gap-3 px-3 py-2">
            <span className={`pt-0.5 ${ok ? "text-ok" : "text-bad"}`}>
              <Icon name={ok ? "check" : "alert"} size={14} />
            </span>
            <Link href={deviceAddress(device.id)} className="truncate rounded font-medium hover:underline">
              {device.alias}
            </Link>
            <span className={`min-w-0 text-sm break-words ${ok ? "text-soft" : "text-bad"}`}>{text}</span>
          </li>
        ))}
      </ul>
      {lines.length > maxLines && <p className="text-sm text-soft">{t("bulk.tooMany")}</p>}
    </div>
  );
}

export function useErrorText(): (error: unknown) => string {
  const i18n = useI18n();
  return (error) => {
    if (!(error instanceof ApiError)) return String(error);
    return `${problemTexts(i18n, error.code).title}. ${error.message}`;
  };
}

/** The result of one call of a fan-out, in short. */
export function useResultText(): (result: FleetResult) => ReactNode {
  const i18n = useI18n();
  return ({ result, error }) => {
    if (error !== undefined) return `${problemTexts(i18n, error.code).title}. ${error.detail}`;
    const texts = (result?.content ?? []).map((part) => {
      if (part["type"] === "text") return String(part["text"]).slice(0, 200);
      return part["type"] === "image" ? i18n.t("result.picture") : String(part["type"]);
    });
    const shown = texts.join(" ").trim();
    return shown === "" ? i18n.t("outcome.ok") : shown;
  };
}

const maxNames = 12;

/** The names of the devices that an action concerns. */
export function Names({ devices }: { readonly devices: readonly Device[] }) {
  const { t } = useI18n();
  const names = devices.slice(0, maxNames).map(({ alias }) => alias);
  const more = devices.length - names.length;
  return (
    <p className="rounded-lg bg-raised p-3 text-sm break-words">
      {names.join(", ")}
      {more > 0 && ` ${t("bulk.more", { count: more })}`}
    </p>
  );
}
