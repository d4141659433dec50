/** All devices of the gateway, by id and by alias. Principals get only the devices that they may see. */
import {
  type Device,
  type DeviceList,
  type DeviceQuery,
  didYouMean,
  type FleetTarget,
  limits,
  normaliseDeviceId,
} from "@tendon/protocol";
import { hasScope, maySee, type Principal, Throttle } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DeviceSession } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { StoredDevice } from "../store/store.ts";
import { perSecond } from "../token-bucket.ts";
import { DeviceRecord } from "./device-record.ts";
import { Names } from "./names.ts";
import { nearDevices } from "./near-devices.ts";
import { sortedPage } from "./sorted-page.ts";

const defaultPage = 100;

export class KnownDevices {
  readonly records = new Map<string, DeviceRecord>();
  readonly names = new Names((id) => this.records.get(id)?.catalogue.known);
  readonly #node: string;
  readonly #clock: Clock;
  #order: string[] | undefined;
  /** Bounds how many wrong names of a principal get suggestions. */
  readonly #hints: Throttle;

  constructor(node: string, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
    const { max } = limits.hintsPerSecond;
    this.#hints = new Throttle(clock, { burst: max, everyMs: perSecond(max) });
  }

  get(id: string): DeviceRecord | undefined {
    return this.records.get(id);
  }

  /** Finds the device of this id or creates it. */
  recordOf(id: string, kind: DeviceSession["kind"]): DeviceRecord {
    const known = this.records.get(id);
    return known ?? this.#add(new DeviceRecord(id, kind, this.names, this.#node, this.#clock.now()));
  }

  /** Creates or updates the record from a stored row. */
  restore(stored: StoredDevice): DeviceRecord {
    const known = this.records.get(stored.id);
    if (known === undefined) return this.#add(DeviceRecord.restored(stored, this.names, this.#node));
    known.updateFrom(stored);
    return known;
  }

  forget(id: string): void {
    this.records.delete(id);
    this.#order = undefined;
    this.names.forget(id);
  }

  shows(principal: Principal, record: DeviceRecord): boolean {
    return record.isKnown && maySee(principal, record);
  }

  approvalOf(id: string): Device["approval"] | undefined {
    const record = this.records.get(id);
    return record?.isKnown === true ? record.view().approval : undefined;
  }

  visible(principal: Principal, id: string): boolean {
    const record = this.records.get(id);
    return record !== undefined && this.shows(principal, record);
  }

  require(principal: Principal, reference: string): DeviceRecord {
    const record = this.records.get(this.idOf(reference));
    if (record === undefined || !this.shows(principal, record)) throw this.unknown(principal, reference);
    return record;
  }

  /** The `device_unknown` error, with similar names of devices that the principal may see. */
  unknown(principal: Principal, reference: string): TendonError {
    const detail = `no device has the id or alias \`${reference}\``;
    return new TendonError("device_unknown", `${detail}${didYouMean(this.near(principal, reference))}`);
  }

  /** Names similar to an unknown reference, of devices that this principal may see. */
  near(principal: Principal, reference: string): string[] {
    // Suggestions would disclose the device list to a principal without the scope to read it.
    if (!hasScope(principal, "read")) return [];
    if (this.#hints.count(principal.id) > 0) return [];
    const { records, names } = this;
    const deviceOf = (alias: string) => names.deviceOf(alias);
    const shows = (viewer: Principal, record: DeviceRecord) => this.shows(viewer, record);
    return nearDevices({ records, deviceOf, shows }, principal, reference);
  }

  /** The id for a reference: an id in any spelling, or an alias. Returns an unknown reference unchanged. */
  idOf(reference: string): string {
    if (this.records.has(reference)) return reference;
    return this.names.deviceOf(reference) ?? normaliseDeviceId(reference) ?? reference;
  }

  /** Each device once. Unknown references stay in the list, so that each gets its own error. */
  targets(principal: Principal, target: FleetTarget): string[] {
    if (target.devices !== undefined) return [...new Set(target.devices.map((name) => this.idOf(name)))];
    const { tag } = target;
    const wanted = (id: string) => tag === undefined || this.records.get(id)?.tags.includes(tag) === true;
    return this.#idsAfter(undefined).filter((id) => wanted(id) && this.visible(principal, id));
  }

  list(principal: Principal, query: DeviceQuery): DeviceList {
    const page = this.#page(principal, query);
    return query.cursor === undefined ? { ...page, ...this.#count(principal, query) } : page;
  }

  #page(principal: Principal, query: DeviceQuery): DeviceList {
    const { sort, limit = defaultPage, cursor } = query;
    if (sort !== undefined) return sortedPage(this.#views(principal, query), sort, limit, cursor);
    const devices: Device[] = [];
    for (const id of this.#idsAfter(cursor === undefined ? undefined : readCursor(cursor))) {
      const record = this.records.get(id);
      if (record === undefined || !this.shows(principal, record) || !fits(record, query)) continue;
      if (devices.length === limit) {
        const last = devices.at(-1);
        return { devices, ...(last === undefined ? {} : { nextCursor: writeCursor(last.id) }) };
      }
      devices.push(record.view());
    }
    return { devices };
  }

  #count(principal: Principal, query: DeviceQuery): { readonly total: number; readonly online: number } {
    let total = 0;
    let online = 0;
    for (const record of this.#matching(principal, query)) {
      total += 1;
      if (record.handle !== undefined) online += 1;
    }
    return { total, online };
  }

  *#views(principal: Principal, query: DeviceQuery): Iterable<Device> {
    for (const record of this.#matching(principal, query)) yield record.view();
  }

  *#matching(principal: Principal, query: DeviceQuery): Iterable<DeviceRecord> {
    for (const record of this.records.values())
      if (this.shows(principal, record) && fits(record, query)) yield record;
  }

  #add(record: DeviceRecord): DeviceRecord {
    this.records.set(record.id, record);
    this.#order = undefined;
    return record;
  }

  #idsAfter(last: string | undefined): readonly string[] {
    this.#order ??= [...this.records.keys()].sort();
    if (last === undefined) return this.#order;
    const from = this.#order.findIndex((id) => id > last);
    return from === -1 ? [] : this.#order.slice(from);
  }
}

function fits(record: DeviceRecord, query: DeviceQuery): boolean {
  if (query.online !== undefined && (record.handle !== undefined) !== query.online) return false;
  if (query.tag !== undefined && !record.tags.includes(query.tag)) return false;
  return query.q === undefined || record.matches(query.q);
}
