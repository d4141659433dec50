import { useQueryClient } from "@tanstack/react-query";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import type { Device, DeviceSortKey } from "@tendon/protocol";
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { deviceQuery, toolsQuery } from "../../api/queries.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { KindIcon, kindOf } from "../../ui/device-kind.tsx";
import { Icon } from "../../ui/icon.tsx";
import { isOverlaid } from "../../ui/keyboard.ts";
import { PresenceDot, presenceLabel } from "../../ui/presence.tsx";
import { Badge } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { Vitals } from "../../ui/vitals.tsx";
import type { Density } from "./density.ts";
import { nextOrder, type Order } from "./device-order.ts";
import { useLastRow } from "./fleet-view.ts";
import type { Selection } from "./selection.ts";

const rowHeights: Readonly<Record<Density, number>> = { comfortable: 60, compact: 38 };

/** Presence, name, board, transport, tools, battery and signal, last seen. Narrow screens show fewer of them. */
const columns =
  "grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 md:grid-cols-[auto_minmax(5rem,1.4fr)_minmax(4.5rem,1fr)_7rem_5.5rem] lg:grid-cols-[auto_minmax(7rem,1.4fr)_minmax(6rem,1fr)_5.5rem_3.5rem_7.5rem_6rem]";

interface FleetListProps {
  readonly devices: readonly Device[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  readonly density: Density;
  /** `undefined` if the user cannot act on devices. */
  readonly selection: Selection | undefined;
}

/** Renders only the visible rows, so that thousands of devices cost no more than a screenful. */
export function FleetList({ devices, order, onOrder, density, selection }: FleetListProps) {
  const { t } = useI18n();
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  // The bar of pending boards and the notices above the list change its place.
  useLayoutEffect(() => {
    const found = list.current === null ? 0 : list.current.getBoundingClientRect().top + window.scrollY;
    if (Math.abs(found - top) > 1) setTop(found);
  });
  const rowHeight = rowHeights[density];
  const virtual = useWindowVirtualizer({
    count: devices.length,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin: top,
    getItemKey: (at) => devices[at]?.id ?? at,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the virtualizer keeps sizes until it is told to measure
  useLayoutEffect(() => virtual.measure(), [rowHeight]);
  const move = (event: KeyboardEvent) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
    const at = Number(row?.dataset["at"]);
    const last = devices.length - 1;
    if (row !== null && event.key === "x" && selection !== undefined) {
      const device = devices[at];
      if (device !== undefined) selection.toggle(device.id);
    }
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
    <div className="rounded-xl border border-line bg-surface">
      <Headers devices={devices} order={order} onOrder={onOrder} selection={selection} />
      <ul
        ref={list}
        aria-label={t("fleet.title")}
        onKeyDown={move}
        className="relative overflow-hidden rounded-b-xl max-md:rounded-t-xl"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map((item) => {
          const device = devices[item.index];
          return device === undefined ? null : (
            <li
              key={item.key}
              aria-setsize={devices.length}
              aria-posinset={item.index + 1}
              className="absolute inset-x-0 flex border-b border-line last:border-b-0"
              style={{
                height: rowHeight,
                transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
              }}
            >
              <FleetRow
                device={device}
                at={item.index}
                compact={density === "compact"}
                selection={selection}
                onEnter={remember}
              />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Whether no element has the focus, so that it can be moved. */
function isNowhere(element: Element | null): boolean {
  return element === null || element === document.body || element.id === "main";
}

const headers = [
  { by: "alias", label: "column.name" },
  { by: "board", label: "column.board" },
  { by: "transport", label: "column.transport", wide: true },
  { by: "tools", label: "column.tools", wide: true },
  { by: "battery", label: "column.battery" },
  { by: "lastSeen", label: "column.lastSeen" },
] as const satisfies readonly { by: DeviceSortKey; label: Key; wide?: true }[];

/** The names of the columns. A click sorts by one, a second click in the other direction. */
function Headers({ devices, order, onOrder, selection }: Omit<FleetListProps, "density">) {
  const { t } = useI18n();
  return (
    <div className="sticky top-0 z-10 hidden rounded-t-xl border-b border-line bg-surface md:flex">
      {selection !== undefined && (
        <Checkbox
          label={t("bulk.selectShown")}
          checked={devices.length > 0 && devices.every(({ id }) => selection.has(id))}
          onChange={(checked) => selection.set(checked ? devices.map(({ id }) => id) : [])}
        />
      )}
      <div className={`${columns} flex-1 px-4 ${selection === undefined ? "" : "pl-1"}`}>
        <span className="size-2.5" />
        {headers.map((header) => {
          const { by, label } = header;
          const chosen = order.by === by;
          const way = order.descending ? "descending" : "ascending";
          return (
            <button
              key={by}
              type="button"
              aria-pressed={chosen}
              title={t("column.sort", { column: t(label) })}
              onClick={() => onOrder(nextOrder(order, by))}
              className={`h-9 min-w-0 items-center gap-1 rounded ${"wide" in header ? "hidden lg:flex" : "flex"} text-left text-xs font-medium hover:text-text ${by === "lastSeen" ? "justify-end" : ""} ${chosen ? "text-text" : "text-soft"}`}
            >
              <span className="truncate">{t(label)}</span>
              {chosen && (
                <>
                  <span className="sr-only">{t(`column.${way}`)}</span>
                  <span className={order.descending ? "" : "rotate-180"}>
                    <Icon name="down" size={10} />
                  </span>
                </>
              )}
            </button>
          );
        })}
      </div>
    </div>
  );
}

function Checkbox(props: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean, range: boolean) => void;
}) {
  const { label, checked, onChange } = props;
  const range = useRef(false);
  return (
    <label className="flex shrink-0 items-center pr-1 pl-4">
      <span className="sr-only">{label}</span>
      <input
        type="checkbox"
        checked={checked}
        onClick={(event) => {
          range.current = event.shiftKey;
        }}
        onChange={({ target }) => onChange(target.checked, range.current)}
        className="size-4 accent-accent"
      />
    </label>
  );
}

function FleetRow(props: {
  readonly device: Device;
  readonly at: number;
  readonly compact: boolean;
  readonly selection: Selection | undefined;
  readonly onEnter: (device: string) => void;
}) {
  const { device, at, compact, selection, onEnter } = props;
  const { t, n, number } = useI18n();
  const live = useIsLive();
  const client = useQueryClient();
  const prefetch = () => {
    void client.prefetchQuery(deviceQuery(device.id));
    void client.prefetchQuery(toolsQuery(device.id));
  };
  const kind = kindOf(device);
  const model = device.board;
  const version = [
    ...(kind === undefined || model === null ? [] : [t(kind.name)]),
    ...(device.firmware === null ? [] : [device.firmware]),
  ].join(" ");
  const selected = selection?.has(device.id) === true;
  return (
    <div className={`flex min-w-0 flex-1 ${selected ? "bg-accent-soft" : "hover:bg-raised"}`}>
      {selection !== undefined && (
        <Checkbox
          label={t("bulk.select", { device: device.alias })}
          checked={selected}
          onChange={(_checked, range) => selection.toggle(device.id, range)}
        />
      )}
      <Link
        href={deviceAddress(device.id)}
        data-at={at}
        onMouseEnter={prefetch}
        onFocus={prefetch}
        onClick={() => onEnter(device.id)}
        className={`${columns} h-full min-w-0 flex-1 px-4 -outline-offset-2 ${selection === undefined ? "" : "pl-1"}`}
      >
        <PresenceDot online={device.online} />
        <span className="min-w-0">
          <span className="flex items-center gap-2">
            <span className="truncate font-medium">{device.alias}</span>
            <span className="md:hidden">
              <KindIcon device={device} />
            </span>
            {device.approval === "revoked" && <Badge tone="bad">{t("device.revoked")}</Badge>}
            {device.waitingCalls > 0 && <WaitingBadge count={device.waitingCalls} />}
            <span className="hidden gap-1 lg:flex">
              {device.tags.slice(0, 3).map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
            </span>
          </span>
          {!compact && (
            <span className="block truncate text-sm text-soft">
              <span className="md:hidden">{presenceLabel(t, device, live)} · </span>
              {device.id === device.alias ? n("fleet.tools", device.toolCount) : device.id}
            </span>
          )}
        </span>
        <span className="hidden min-w-0 text-sm md:block">
          <span className="flex items-center gap-1.5">
            <KindIcon device={device} />
            <span className="truncate">
              {model ?? t(kind?.name ?? "device.unknownBoard")}
              {compact && device.firmware !== null && <span className="text-soft"> {device.firmware}</span>}
            </span>
          </span>
          {!compact && <span className="block truncate text-soft">{version}</span>}
        </span>
        <span className="hidden truncate text-sm text-soft lg:block">{device.transport ?? ""}</span>
        <span className="hidden text-sm text-soft lg:block">{number(device.toolCount)}</span>
        <span className="text-sm">
          <Vitals vitals={device.vitals} />
        </span>
        <span className="hidden truncate text-right text-sm text-soft md:block">
          {device.online && live ? (
            presenceLabel(t, device, live)
          ) : device.lastSeenAt === null ? (
            t("device.neverSeen")
          ) : (
            <Ago at={device.lastSeenAt} />
          )}
        </span>
      </Link>
    </div>
  );
}

/** The number of calls that wait until the device is online. */
function WaitingBadge({ count }: { readonly count: number }) {
  const { n, number } = useI18n();
  const text = n("fleet.waiting", count);
  return (
    <span title={text} className="flex">
      <Badge tone="accent">
        <Icon name="clock" size={11} />
        <span aria-hidden="true">{number(count)}</span>
        <span className="sr-only">{text}</span>
      </Badge>
    </span>
  );
}
