/** One line per device: whether the action succeeded, and why not. Failures first. */
import type { Device, FleetResult } from "@tendon/protocol";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ApiError } from "../../api/client.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { Icon } from "../../ui/icon.tsx";
import { outcomeLabel, problemTexts } from "../../ui/problem.tsx";

export interface Line {
  readonly device: Pick<Device, "id" | "alias">;
  readonly ok: boolean;
  /** The call waits until the device is online. */
  readonly queued?: boolean;
  readonly text: ReactNode;
}

/** More lines than this are counted, not shown. */
const maxLines = 500;

type State = "failed" | "queued" | "done";
const order: readonly State[] = ["failed", "queued", "done"];
const looks = {
  failed: { ink: "text-bad", icon: "alert", textInk: "text-bad" },
  queued: { ink: "text-accent-deep", icon: "clock", textInk: "text-soft" },
  done: { ink: "text-ok", icon: "check", textInk: "text-soft" },
} as const;

function stateOf({ ok, queued }: Line): State {
  if (ok) return "done";
  return queued === true ? "queued" : "failed";
}

export function Outcomes({ lines, total }: { readonly lines: readonly Line[]; readonly total: number }) {
  const { t, n } = useI18n();
  const count = (state: State) => lines.filter((line) => stateOf(line) === state).length;
  const [done, failed, queued] = [count("done"), count("failed"), count("queued")];
  const sorted = [...lines]
    .sort((a, b) => order.indexOf(stateOf(a)) - order.indexOf(stateOf(b)))
    .slice(0, maxLines);
  const summary = [
    n("bulk.done", done),
    ...(failed === 0 ? [] : [n("bulk.failed", failed)]),
    ...(queued === 0 ? [] : [n("fleet.waiting", queued)]),
  ];
  return (
    <div className="flex min-h-0 flex-col gap-2">
      <p role="status" className="font-medium">
        {lines.length < total ? t("bulk.progress", { done: lines.length, total }) : summary.join(" · ")}
      </p>
      <ul
        aria-label={t("bulk.results")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
        tabIndex={0}
        className="max-h-72 divide-y divide-line overflow-y-auto rounded-lg border border-line"
      >
        {sorted.map((line) => {
          const { ink, icon, textInk } = looks[stateOf(line)];
          const { device, text } = line;
          return (
            <li
              key={device.id}
              className="grid grid-cols-[auto_minmax(0,9rem)_minmax(0,1fr)] gap-3 px-3 py-2"
            >
              <span className={`pt-0.5 ${ink}`}>
                <Icon name={icon} size={14} />
              </span>
              <Link href={deviceAddress(device.id)} className="truncate rounded font-medium hover:underline">
                {device.alias}
              </Link>
              <span className={`min-w-0 text-sm break-words ${textInk}`}>{text}</span>
            </li>
          );
        })}
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
  return ({ result, error, state }) => {
    if (state === "queued") return i18n.t("running.away");
    if (error !== undefined) return `${outcomeLabel(i18n, error.code)}. ${error.detail}`;
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
