/** The device's activity: calls, events and frames. */

import { useQuery } from "@tanstack/react-query";
import type { DeviceDetail, FrameList, GatewayEvent } from "@tendon/protocol";
import { api, inPath } from "../../api/client.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useRecentEvents } from "../../live/live-context.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Clock } from "../../ui/time.tsx";
import { CallHistoryList } from "../calls/call-list.tsx";

const framesEveryMs = 2_000;
const eventsShown = 100;

export function ActivityTabs({ device }: { readonly device: DeviceDetail }) {
  const { t } = useI18n();
  const { may } = useSession();
  const tabs = [
    {
      id: "calls",
      title: t("activity.calls"),
      content: <CallHistoryList filter={{ device: device.id, limit: 20 }} hideDevice />,
    },
    { id: "events", title: t("activity.events"), content: <EventLog device={device.id} /> },
    ...(may("admin")
      ? [{ id: "frames", title: t("activity.frames"), content: <FrameLog device={device.id} /> }]
      : []),
  ];
  return <Tabs label={t("activity.title")} tabs={tabs} />;
}

function EventLog({ device }: { readonly device: string }) {
  const { t } = useI18n();
  const events = useRecentEvents((event) => event.device === device).slice(0, eventsShown);
  if (events.length === 0) return <p className="p-4 text-soft">{t("activity.noEvents")}</p>;
  return (
    <ol className="divide-y divide-line">
      {events.map((event) => (
        <EventRow key={event.id} event={event} />
      ))}
    </ol>
  );
}

function EventRow({ event }: { readonly event: GatewayEvent }) {
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 px-4 py-2 text-sm sm:grid-cols-[6rem_12rem_minmax(0,1fr)]">
      <span className="text-soft">
        <Clock at={event.at} />
      </span>
      <code className="font-mono">{event.type}</code>
      <code
        className="col-span-2 truncate font-mono text-soft sm:col-span-1"
        title={JSON.stringify(event.data)}
      >
        {JSON.stringify(event.data)}
      </code>
    </li>
  );
}

/** The latest frames on the wire, newest first. Polled only while the tab is open. */
function FrameLog({ device }: { readonly device: string }) {
  const { t } = useI18n();
  const { data, error } = useQuery({
    queryKey: ["device", device, "frames"],
    queryFn: ({ signal }) => api<FrameList>(`/devices/${inPath(device)}/frames`, { signal }),
    refetchInterval: framesEveryMs,
    gcTime: 0,
  });
  if (error !== null)
    return (
      <div className="p-4">
        <ProblemNote error={error} />
      </div>
    );
  if (data === undefined) return <SkeletonRows rows={4} />;
  if (data.frames.length === 0) return <p className="p-4 text-soft">{t("activity.noFrames")}</p>;
  return <Frames frames={data.frames} order="newestFirst" />;
}

export function Frames({
  frames,
  order,
}: {
  readonly frames: FrameList["frames"];
  readonly order: "time" | "newestFirst";
}) {
  const { t } = useI18n();
  return (
    <ol className="divide-y divide-line">
      {(order === "time" ? keyed(frames) : keyed(frames).reverse()).map(
        ({ key, at, way, length, text, notUnderstood }) => (
          <li key={key} className="px-4 py-2">
            <details>
              <summary className="grid cursor-pointer grid-cols-[auto_auto_minmax(0,1fr)] items-baseline gap-3 text-sm marker:content-none">
                <span className="text-soft">
                  <Clock at={at} />
                </span>
                <span className={way === "in" ? "text-ok" : "text-accent-deep"}>
                  {way === "in" ? `← ${t("frames.in")}` : `→ ${t("frames.out")}`}
                </span>
                <code className="truncate font-mono text-soft">{text}</code>
                {notUnderstood !== undefined && (
                  <span className="col-span-3 text-warn">
                    {t("frames.notUnderstood", { reason: notUnderstood })}
                  </span>
                )}
              </summary>
              <pre className="mt-2 rounded-lg bg-raised p-3 font-mono text-xs break-words whitespace-pre-wrap">
                {readable(text)}
              </pre>
              {length > text.length && (
                <p className="mt-1 text-xs text-soft">{t("frames.cut", { length })}</p>
              )}
            </details>
          </li>
        ),
      )}
    </ol>
  );
}

function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

type Frame = FrameList["frames"][number];

/** Frames have no ids, so the key is their time and their position within that time. */
function keyed(frames: readonly Frame[]): (Frame & { readonly key: string })[] {
  const seen = new Map<string, number>();
  return frames.map((frame) => {
    const before = seen.get(frame.at) ?? 0;
    seen.set(frame.at, before + 1);
    return { ...frame, key: `${frame.at}-${before}` };
  });
}
