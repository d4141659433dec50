/** All devices, live: presence, transport and status. */

import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { Decided, Device, FleetTarget } from "@tendon/protocol";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { countsQuery, type FleetFilter, fleetQuery, keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { statusTool } from "../../api/status.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { useLive } from "../../live/live-context.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { Segments } from "../../ui/controls.tsx";
import { kindOf } from "../../ui/device-kind.tsx";
import { SearchInput, Select } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, SkeletonRows } from "../../ui/states.tsx";
import { AddDeviceDialog, FirstRun, firstKind } from "./add-device.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { useDensity } from "./density.ts";
import { readOrder, writeOrder } from "./device-order.ts";
import { FleetList } from "./fleet-list.tsx";
import { useStableOrder } from "./fleet-order.ts";
import { type Presence, useFleetView } from "./fleet-view.ts";
import { MissingImports } from "./missing-imports.tsx";
import { ApprovedNote, PendingBoards, usePendingBoards } from "./pending-boards.tsx";
import { useSelection } from "./selection.ts";

/** The page loads at most this many devices; search finds the others. */
const maxRows = 10_000;
const askMs = 5_000;
/** A request for more devices than this asks all of them. */
const maxNamedDevices = 1_000;
/** The orders that narrow screens offer, which have no column headers. */
const narrowOrders = ["alias", "-lastSeen", "board", "battery", "-tools"] as const;

export function FleetPage() {
  const { t, n } = useI18n();
  const { may } = useSession();
  const isAway = useLive().kind === "reconnecting";
  const [{ search, presence, tag, order, add }, change] = useFleetView();
  const [density, setDensity] = useDensity();
  const q = useDeferredValue(search.trim());
  // The page sorts what it has loaded. Where that is only a part of the fleet, the gateway chooses the part.
  const [isPart, setIsPart] = useState(false);
  const sort = isPart ? writeOrder(order) : undefined;
  const filter: FleetFilter = useMemo(
    () => ({
      ...(q === "" ? {} : { q }),
      ...(presence === "all" ? {} : { online: presence === "online" }),
      ...(tag === "" ? {} : { tag }),
      ...(sort === undefined ? {} : { sort }),
    }),
    [q, presence, tag, sort],
  );
  const fleet = useInfiniteQuery({ ...fleetQuery(filter), placeholderData: keepPreviousData });
  const loaded = useMemo(() => fleet.data?.pages.flatMap((page) => page.devices) ?? [], [fleet.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isPlaceholderData } = fleet;
  const first = fleet.data?.pages[0];
  const isTooLarge = (first?.total ?? 0) > maxRows;
  useEffect(() => {
    if (isPlaceholderData) return;
    // The gateway sorts a part: its first page is read again in that order, and the others only in that order.
    if (isTooLarge && !isPart) setIsPart(true);
    else if (hasNextPage && !isFetchingNextPage && loaded.length < maxRows) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, isPlaceholderData, loaded.length, isTooLarge, isPart]);
  // Rows are sorted again when those of a new filter have replaced the old ones, and when the last page is there.
  const question = JSON.stringify([filter, order, isPlaceholderData, hasNextPage]);
  const stable = useStableOrder(loaded, order, question, hasNextPage);
  const [approved, setApproved] = useState<Decided>();
  const selection = useSelection(stable.rows);
  const mayAct = may("call") || may("admin");
  const filtered = q !== "" || presence !== "all" || tag !== "";
  const isEmpty = fleet.isSuccess && loaded.length === 0;
  const isFirstRun = isEmpty && !filtered;
  const tags = useMemo(() => tagsOf(loaded, tag), [loaded, tag]);
  const boards = usePendingBoards().data?.total ?? 0;
  // While rows are missing, only the gateway knows how many there are.
  const counts = useQuery({ ...countsQuery(filter), enabled: isTooLarge }).data ?? first;
  const total = (hasNextPage ? counts?.total : undefined) ?? loaded.length;
  const online =
    (hasNextPage ? counts?.online : undefined) ?? loaded.filter((device) => device.online).length;
  const target = hasNextPage ? { all: true as const } : statusTarget(loaded, filtered);
  return (
    <>
      <PageHeader
        title={t("fleet.title")}
        lead={
          isAway ? (
            t("live.memory")
          ) : fleet.isSuccess && !isEmpty ? (
            <span role="status">
              {n("fleet.online", online)} · {n("fleet.offline", total - online)}
              {boards > 0 && ` · ${n("fleet.boards", boards)}`}
            </span>
          ) : (
            t("fleet.lead")
          )
        }
        actions={
          <>
            {target !== undefined && may("call") && <AskAll target={target} />}
            {!isFirstRun && (
              <Button look="primary" icon="plus" onClick={() => change({ add: firstKind })}>
                {t("add.title")}
              </Button>
            )}
          </>
        }
      />
      <AddDeviceDialog kind={add} onChange={(kind) => change({ add: kind })} onAdded={stable.show} />
      {approved !== undefined && <ApprovedNote device={approved} onClose={() => setApproved(undefined)} />}
      <PendingBoards
        onApproved={(device) => {
          setApproved(device);
          stable.show(device.id);
        }}
      />
      <MissingImports />
      {isFirstRun ? (
        <FirstRun onAdded={stable.show} />
      ) : (
        <>
          <div className="mb-3 flex flex-wrap gap-2">
            <FleetSearch value={search} onChange={(text) => change({ search: text })} />
            <Select
              aria-label={t("fleet.presence")}
              value={presence}
              onChange={(event) => change({ presence: event.target.value as Presence })}
              className="w-36"
            >
              <option value="all">{t("fleet.all")}</option>
              <option value="online">{t("device.online")}</option>
              <option value="offline">{t("device.offline")}</option>
            </Select>
            {tags.length > 0 && (
              <Select
                aria-label={t("fleet.tag")}
                value={tag}
                onChange={(event) => change({ tag: event.target.value })}
                className="w-36"
              >
                <option value="">{t("fleet.anyTag")}</option>
                {tags.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </Select>
            )}
            <Select
              aria-label={t("fleet.sort")}
              value={writeOrder(order)}
              onChange={({ target }) => change({ order: readOrder(target.value) ?? order })}
              className="w-40 md:hidden"
            >
              {narrowOrders.map((key) => (
                <option key={key} value={key}>
                  {t(`fleet.sort.${key}`)}
                </option>
              ))}
              {!narrowOrders.some((key) => key === writeOrder(order)) && (
                <option value={writeOrder(order)}>{t("fleet.sort.other")}</option>
              )}
            </Select>
            <span className="max-md:hidden">
              <Segments
                label={t("density.title")}
                value={density}
                choices={[
                  { value: "comfortable", label: t("density.comfortable") },
                  { value: "compact", label: t("density.compact") },
                ]}
                onChange={setDensity}
              />
            </span>
            <div role="status" aria-live="polite" className="ml-auto">
              {stable.waiting > 0 && (
                <Button look="quiet" icon="refresh" onClick={stable.showAll}>
                  {n("fleet.new", stable.waiting)}
                </Button>
              )}
            </div>
          </div>
          {isTooLarge && <p className="mb-3 text-soft">{t("fleet.tooMany", { shown: maxRows, total })}</p>}
          {fleet.isError && <ProblemNote error={fleet.error} />}
          {fleet.isPending && <SkeletonRows />}
          {isEmpty && (
            <Empty icon="search" title={t("fleet.nothing")}>
              <p>{t("fleet.nothingHint")}</p>
            </Empty>
          )}
          {stable.rows.length > 0 && (
            <FleetList
              devices={stable.rows}
              order={order}
              onOrder={(next) => change({ order: next })}
              density={density}
              selection={mayAct ? selection : undefined}
            />
          )}
          <BulkBar selection={selection} shown={stable.rows} />
        </>
      )}
    </>
  );
}

/** The connected devices of the list that may report a status: boards, and programs that have reported one. */
function statusTarget(devices: readonly Device[], filtered: boolean): FleetTarget | undefined {
  const connected = devices.filter(({ online }) => online);
  const asked = connected.filter((device) => kindOf(device) === undefined || device.vitals !== null);
  if (asked.length === 0) return undefined;
  const isAll = !filtered && asked.length === connected.length;
  if (isAll || asked.length > maxNamedDevices) return { all: true };
  return { devices: asked.map(({ id }) => id) };
}

/** Reads the status of the connected devices; the rows show the answers. */
function AskAll({ target }: { readonly target: FleetTarget }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const ask = useMutation({
    mutationFn: () => api("/calls", { method: "POST", body: { target, tool: statusTool, timeoutMs: askMs } }),
    onSettled: () => client.invalidateQueries({ queryKey: keys.fleets }),
  });
  return (
    <Button icon="refresh" disabled={ask.isPending} onClick={() => ask.mutate()}>
      {t(ask.isPending ? "fleet.asking" : "fleet.askAll")}
    </Button>
  );
}

function FleetSearch({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  const { t } = useI18n();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (
        event.key !== "/" ||
        event.target instanceof HTMLInputElement ||
        event.target instanceof HTMLTextAreaElement
      )
        return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener("keydown", focus);
    return () => window.removeEventListener("keydown", focus);
  }, []);
  return (
    <SearchInput
      ref={field}
      aria-label={t("fleet.search")}
      placeholder={t("fleet.search")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") onChange("");
      }}
      className="min-w-40 flex-1 sm:max-w-xs"
    />
  );
}

function tagsOf(devices: readonly Device[], chosen: string): string[] {
  const all = new Set(devices.flatMap((device) => device.tags));
  if (chosen !== "") all.add(chosen);
  return [...all].sort();
}
