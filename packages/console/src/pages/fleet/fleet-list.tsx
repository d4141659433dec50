import { useQueryClient } from "@tanstack/react-query";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import type { Device } from "@tendon/protocol";
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { deviceQuery, toolsQuery } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { isOverlaid } from "../../ui/keyboard.ts";
import { PresenceDot, presenceLabel } from "../../ui/presence.tsx";
import { Badge } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { Vitals } from "../../ui/vitals.tsx";
import { useLastRow } from "./fleet-view.ts";

const rowHeight = 60;

/** Renders only the visible rows, so that thousands of devices cost no more than a screenful. */
export function FleetList({ devices }: { readonly devices: readonly Device[] }) {
  const { t } = useI18n();
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: devices.length,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin: top,
    getItemKey: (at) => devices[at]?.id ?? at,
  });
  const move = (event: KeyboardEvent) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
    const at = Number(row?.dataset["at"]);
    const last = devices.length - 1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (row === null || next === undefined) return;
    event.preventDefault();
    if (next < 0 || next > last) return;
    virtual.scrollToIndex(next);
    focusSoon(next);
  };
  const focusSoon = (at: number) => {
    const focus = () => {
      if (isOverlaid()) return true;
      const there = list.current?.querySelector<HTMLElement>(`[data-at="${at}"]`);
      there?.focus({ preventScroll: true });
      return there !== null;
    };
    // A distant row is rendered only once it is scrolled into view.
    if (!focus()) requestAnimationFrame(() => requestAnimationFrame(focus));
  };
  const { remember, recall } = useLastRow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only once, when the user comes back from a device
  useEffect(() => {
    const entered = recall();
    const at = devices.findIndex(({ id }) => id === entered);
    if (at === -1) return;
    virtual.scrollToIndex(at, { align: "center" });
    if (isNowhere(document.activeElement)) focusSoon(at);
  }, []);
  return (
    <ul
      ref={list}
      aria-label={t("fleet.title")}
      onKeyDown={move}
      className="relative overflow-hidden rounded-xl border border-line bg-surface"
      style={{ height: virtual.getTotalSize() + 2 }}
    >
      {virtual.getVirtualItems().map((item) => {
        const device = devices[item.index];
        return device === undefined ? null : (
          <li
            key={item.key}
            aria-setsize={devices.length}
            aria-posinset={item.index + 1}
            className="absolute inset-x-0 border-b border-line last:border-b-0"
            style={{
              height: rowHeight,
              transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
            }}
          >
            <FleetRow device={device} at={item.index} onEnter={remember} />
          </li>
        );
      })}
    </ul>
  );
}

/** Whether no element has the focus, so that it can be moved. */
function isNowhere(element: Element | null): boolean {
  return element === null || element === document.body || element.id === "main";
}

function FleetRow(props: {
  readonly device: Device;
  readonly at: number;
  readonly onEnter: (device: string) => void;
}) {
  const { device, at, onEnter } = props;
  const { t, n } = useI18n();
  const live = useIsLive();
  const client = useQueryClient();
  const prefetch = () => {
    void client.prefetchQuery(deviceQuery(device.id));
    void client.prefetchQuery(toolsQuery(device.id));
  };
  return (
    <Link
      href={deviceAddress(device.id)}
      data-at={at}
      onMouseEnter={prefetch}
      onFocus={prefetch}
      onClick={() => onEnter(device.id)}
      className="grid h-full grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 px-4 -outline-offset-2 transition-colors hover:bg-raised md:grid-cols-[auto_minmax(9rem,1.3fr)_minmax(8rem,1fr)_5rem_8rem_6.5rem]"
    >
      <PresenceDot online={device.online} />
      <span className="min-w-0">
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{device.alias}</span>
          {device.approval === "revoked" && <Badge tone="bad">{t("device.revoked")}</Badge>}
          <span className="hidden gap-1 lg:flex">
            {device.tags.slice(0, 3).map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </span>
        </span>
        <span className="block truncate text-sm text-soft">
          <span className="md:hidden">{presenceLabel(t, device, live)} · </span>
          {device.id === device.alias ? n("fleet.tools", device.toolCount) : device.id}
        </span>
      </span>
      <span className="hidden min-w-0 text-sm md:block">
        <span className="block truncate">
          {device.board ?? t(device.kind === "process" ? "device.program" : "device.unknownBoard")}
        </span>
        <span className="block truncate text-soft">{device.firmware ?? ""}</span>
      </span>
      <span className="hidden text-sm text-soft md:block">{device.transport ?? ""}</span>
      <span className="text-sm">
        <Vitals vitals={device.vitals} />
      </span>
      <span className="hidden text-right text-sm text-soft md:block">
        {device.online && live ? (
          presenceLabel(t, device, live)
        ) : device.lastSeenAt === null ? (
          t("device.neverSeen")
        ) : (
          <Ago at={device.lastSeenAt} />
        )}
      </span>
    </Link>
  );
}
