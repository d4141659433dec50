/** Refreshes cached data after events. A few changed devices are read one by one; many are read with the whole list. */

import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Device, DeviceDetail, DeviceList, GatewayEvent } from "@tendon/protocol";
import { api, inPath } from "../api/client.ts";
import { keys } from "../api/queries.ts";
import type { Live } from "./live.ts";

const gatherMs = 200;
const maxSingleReads = 16;
const historyMs = 1_000;
const countsMs = 1_000;
/** Less often, because the gateway reads the whole list of imported devices to count them. */
const importsMs = 5_000;

export function keepFresh(live: Live, client: QueryClient): () => void {
  const changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = async () => {
    timer = undefined;
    const ids = [...changed];
    changed.clear();
    if (ids.length > maxSingleReads) {
      await client.invalidateQueries({ queryKey: keys.fleets });
      return;
    }
    await Promise.all(ids.map((id) => refresh(client, id)));
  };
  const touch = (id: string) => {
    changed.add(id);
    timer ??= setTimeout(() => void settle(), gatherMs);
  };
  // Calls and firmware are read at most once a second, however many events arrive.
  const history = onceIn(historyMs, () => void client.invalidateQueries({ queryKey: keys.calls }));
  const images = onceIn(historyMs, () => void client.invalidateQueries({ queryKey: keys.firmware }));
  const conversations = onceIn(
    gatherMs,
    () => void client.invalidateQueries({ queryKey: keys.conversations }),
  );
  const counts = onceIn(countsMs, () => void client.invalidateQueries({ queryKey: keys.counts }));
  const imports = onceIn(importsMs, () => void client.invalidateQueries({ queryKey: keys.imports }));
  const stop = live.onEvent((event) => {
    patchPresence(client, event);
    if (event.type === "device.online" || event.type === "device.offline") counts.touch();
    if (event.type === "device.online") imports.touch();
    handle(client, event, {
      device: touch,
      history: history.touch,
      images: images.touch,
      conversations: conversations.touch,
    });
  });
  return () => {
    stop();
    clearTimeout(timer);
    history.stop();
    images.stop();
    conversations.stop();
    counts.stop();
    imports.stop();
  };
}

/** Runs at most once in this time, however often it is requested. */
function onceIn(ms: number, run: () => void): { readonly touch: () => void; readonly stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    touch() {
      timer ??= setTimeout(() => {
        timer = undefined;
        run();
      }, ms);
    },
    stop: () => clearTimeout(timer),
  };
}

/** The refreshes that are batched: each runs once for all events until then. */
interface Touch {
  readonly device: (id: string) => void;
  readonly history: () => void;
  readonly images: () => void;
  readonly conversations: () => void;
}

function handle(client: QueryClient, event: GatewayEvent, touch: Touch): void {
  const { device } = event;
  switch (event.type) {
    case "device.online":
    case "device.offline":
      if (device !== undefined) touch.device(device);
      // In a cluster, this event may be the first one about a new board, whose conversation may have started before.
      touch.conversations();
      return;
    case "device.tools_changed":
      if (device === undefined) return;
      touch.device(device);
      void client.invalidateQueries({ queryKey: keys.tools(device) });
      return;
    case "call.queued":
    case "call.finished":
      touch.history();
      if (device !== undefined && changesDevice(event)) touch.device(device);
      return;
    case "call.late":
      touch.history();
      return;
    case "device.approved":
    case "device.revoked":
      if (device !== undefined) touch.device(device);
      void client.invalidateQueries({ queryKey: ["pending"] });
      return;
    case "device.pending":
    case "approval.requested":
    case "approval.decided":
      void client.invalidateQueries({
        queryKey: [event.type === "device.pending" ? "pending" : "approvals"],
      });
      return;
    case "voice.started":
    case "voice.ended":
      touch.conversations();
      return;
    case "device.firmware":
    case "firmware.halted":
      touch.images();
      return;
    case "audit.recorded":
      void client.invalidateQueries({ queryKey: keys.audit });
      if (["device.import", "device.unimport"].includes(String(event.data["action"])))
        void client.invalidateQueries({ queryKey: keys.imports });
      if (String(event.data["action"]).startsWith("token."))
        void client.invalidateQueries({ queryKey: keys.tokens });
      if (String(event.data["action"]).startsWith("webhook."))
        void client.invalidateQueries({ queryKey: keys.webhooks });
      return;
    case "webhook.disabled":
      void client.invalidateQueries({ queryKey: keys.webhooks });
      return;
    case "device.notification":
      return;
    default: {
      event.type satisfies never;
    }
  }
}

/** Whether the gateway has a newer status of the device, or another number of queued calls for it. */
function changesDevice({ type, data }: GatewayEvent): boolean {
  if (type === "call.queued" || data["queued"] === true) return true;
  return data["tool"] === "self.get_device_status";
}

type Pages = InfiniteData<DeviceList, string | undefined>;

/** Updates presence at once; the rest of the row follows with the next read. */
function patchPresence(client: QueryClient, { type, device }: GatewayEvent): void {
  if (type !== "device.online" && type !== "device.offline") return;
  const online = type === "device.online";
  patchRows(client, (row) => (row.id === device && row.online !== online ? { ...row, online } : row));
  if (device !== undefined) {
    client.setQueryData<DeviceDetail>(keys.device(device), (known) => known && { ...known, online });
  }
}

async function refresh(client: QueryClient, id: string): Promise<void> {
  // Skip a device that is being deleted here.
  if (client.isMutating({ mutationKey: keys.deletion(id) }) > 0) return;
  const watched = client.getQueryData(keys.device(id)) !== undefined;
  if (!watched && !isListed(client, id)) {
    await readListsAgain(client);
    return;
  }
  const detail = await api<DeviceDetail>(`/devices/${inPath(id)}`).catch(() => undefined);
  if (detail === undefined) return;
  client.setQueryData(keys.device(id), detail);
  patchRows(client, (row) => (row.id === id ? detail : row));
  if (!isListed(client, id)) await readListsAgain(client);
}

/** A list that has only a part of the fleet stays as it is: most changes are of devices that it does not show. */
async function readListsAgain(client: QueryClient): Promise<void> {
  await client.invalidateQueries({
    queryKey: keys.fleets,
    predicate: ({ state }) => (state.data as Pages | undefined)?.pages.at(-1)?.nextCursor === undefined,
  });
}

function isListed(client: QueryClient, id: string): boolean {
  return client
    .getQueriesData<Pages>({ queryKey: keys.fleets })
    .some(([, known]) => known?.pages.some(({ devices }) => devices.some((row) => row.id === id)) === true);
}

/** Removes a deleted device from the cached data at once. */
export async function removeCachedDevice(client: QueryClient, id: string): Promise<void> {
  client.removeQueries({ queryKey: keys.device(id) });
  patchRows(client, (row) => (row.id === id ? undefined : row));
  await client.invalidateQueries({ queryKey: keys.fleets });
}

/** `undefined` removes the row. */
function patchRows(client: QueryClient, change: (row: Device) => Device | undefined): void {
  client.setQueriesData<Pages>({ queryKey: keys.fleets }, (known) => {
    if (known === undefined) return known;
    return {
      ...known,
      pages: known.pages.map((page) => ({
        ...page,
        devices: page.devices.flatMap((row) => change(row) ?? []),
      })),
    };
  });
}
