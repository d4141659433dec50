import {
  type ImportedRow,
  type ImportList,
  type ImportQuery,
  type ImportReply,
  type ImportRow,
  limits,
  macMistake,
  normaliseDeviceId,
} from "@tendon/protocol";
import { maySee, type Principal, requireScope } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import { TendonError } from "../errors.ts";
import type { ImportedDevice, ImportFilter, ListedImport, Store } from "../store/store.ts";
import type { SealedKeys } from "./sealed-keys.ts";

interface RowProblem {
  readonly path: string;
  readonly message: string;
}

/** What an import did, with what the audit keeps of it. */
interface Imported extends ImportReply {
  readonly ids: readonly string[];
  /** All rows of the import have it, so it finds them in the list. */
  readonly importedAt: string;
}

const defaultPage = 100;

/**
 * Imported devices, which the gateway admits when they first ask. An import does not affect provisioned devices, and
 * repeating it changes nothing.
 */
export class Imports {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #keys: SealedKeys;
  /** Running counts by filter. A count reads the whole list, so equal requests share one. */
  readonly #counts = new Map<string, Promise<number>>();

  constructor(store: Store, clock: Clock, keys: SealedKeys) {
    this.#store = store;
    this.#clock = clock;
    this.#keys = keys;
  }

  /** The imported devices that the principal may see, in the order of their ids. The first page has the total. */
  async list(principal: Principal, query: ImportQuery): Promise<ImportList> {
    requireScope(principal, "provision");
    const { limit = defaultPage, cursor } = query;
    const filter = filterOf(principal, query);
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const { imports, next } = await this.#store.imports.page(filter, limit, after);
    return {
      imports: imports.map(viewOf),
      ...(next === undefined ? {} : { nextCursor: writeCursor(next) }),
      ...(cursor === undefined ? { total: await this.#count(filter) } : {}),
    };
  }

  async serialOf(id: string): Promise<string | undefined> {
    return (await this.#store.imports.get(id))?.serial;
  }

  /** Removes one device from the list. A device that has connected keeps its credentials. Returns its id. */
  async remove(principal: Principal, reference: string): Promise<string> {
    requireScope(principal, "provision");
    const { imports, devices } = this.#store;
    const id = normaliseDeviceId(reference) ?? reference;
    const row = await imports.get(id);
    const tags = (await devices.get(id))?.tags ?? row?.tags ?? [];
    if (row === undefined || !maySee(principal, { id, tags }) || !(await imports.remove(id)))
      throw new TendonError("device_unknown", `no device with the id \`${reference}\` is imported`);
    return id;
  }

  async #count(filter: ImportFilter): Promise<number> {
    const key = JSON.stringify(filter);
    const running = this.#counts.get(key);
    if (running !== undefined) return await running;
    const count = this.#store.imports.count(filter).finally(() => this.#counts.delete(key));
    this.#counts.set(key, count);
    return await count;
  }

  /** Imports all rows or none. */
  async add(principal: Principal, rows: readonly ImportRow[]): Promise<Imported> {
    requireScope(principal, "provision");
    const devices = rows.map((row) => ({ row, id: normaliseDeviceId(row.id) }));
    const problems = devices.flatMap(({ row, id }, index) => problemsOf(row, id, index));
    const seen = new Set<string>();
    for (const [index, { id }] of devices.entries()) {
      if (id === undefined) continue;
      if (seen.has(id)) problems.push(at(index, "id", "is in this request twice"));
      seen.add(id);
    }
    refuse("bad_request", problems);
    const { imports } = this.#store;
    const known = principal.devices === undefined ? new Map() : await imports.of([...seen]);
    const own = [...(principal.devices?.tags ?? [])];
    const foreign = devices.flatMap(({ row, id = "" }, index) => {
      if (!maySee(principal, { id, tags: row.tags ?? [] })) {
        return own.length === 0
          ? [at(index, "id", "is outside the devices of this token")]
          : [at(index, "tags", `must have a tag of this token: ${own.join(", ")}`)];
      }
      // Only a principal that sees the imported device may replace its row.
      const before = known.get(id);
      const mine = before === undefined || maySee(principal, { id, tags: before.tags });
      return mine ? [] : [at(index, "id", "is outside the devices of this token")];
    });
    refuse("device_unknown", foreign);
    if ((await imports.count()) + rows.length > limits.importedDevices.max) {
      throw new TendonError(
        limits.importedDevices.error,
        `${limits.importedDevices.max} devices may be imported at most`,
      );
    }
    const now = this.#clock.now();
    const sealed = devices.map(({ row, id = "" }) => this.#sealed(row, id));
    const imported = await imports.add(sealed, undefined, now);
    const ids = sealed.map(({ device }) => device);
    return { imported, total: await imports.count(), ids, importedAt: isoTime(now) };
  }

  #sealed({ serial, hmacKey, tags = [] }: ImportRow, device: string): ImportedDevice {
    const sealedKey =
      hmacKey === undefined ? undefined : this.#keys.seal(device, Buffer.from(hmacKey, "hex"));
    return { device, serial, sealedKey, tags };
  }
}

function filterOf({ devices }: Principal, { q, tag, connected, importedAt }: ImportQuery): ImportFilter {
  return {
    texts: q === undefined ? undefined : textsOf(q.trim()),
    tag,
    connected,
    importedAt: importedAt === undefined ? undefined : Date.parse(importedAt),
    only: devices === undefined ? undefined : { ids: [...devices.ids], tags: [...devices.tags] },
  };
}

/** A MAC address is found in any spelling. */
function textsOf(text: string): readonly string[] | undefined {
  if (text === "") return undefined;
  return [...new Set([text, normaliseDeviceId(text) ?? text].map((each) => each.toLowerCase()))];
}

function viewOf({ device: id, serial, lastSeenAt, importedAt, ...row }: ListedImport): ImportedRow {
  return {
    id,
    serial: serial ?? null,
    hasKey: row.hasKey,
    tags: [...row.tags],
    importedAt: isoTime(importedAt),
    connected: lastSeenAt !== undefined,
    lastSeenAt: lastSeenAt === undefined ? null : isoTime(lastSeenAt),
  };
}

function problemsOf(row: ImportRow, id: string | undefined, index: number): RowProblem[] {
  const problems: RowProblem[] = [];
  const mistake = macMistake(row.id);
  if (id === undefined) problems.push(at(index, "id", "is not a valid device id"));
  else if (mistake !== undefined) problems.push(at(index, "id", `looks like a MAC address, but ${mistake}`));
  if (row.hmacKey !== undefined && row.serial === undefined)
    problems.push(at(index, "serial", "is required with `hmacKey`, which proves the serial number"));
  return problems;
}

function at(index: number, field: string, message: string): RowProblem {
  return { path: `/devices/${index}/${field}`, message };
}

function refuse(code: "bad_request" | "device_unknown", errors: readonly RowProblem[]): void {
  const [first] = errors;
  if (first === undefined) return;
  throw new TendonError(code, `${first.path} ${first.message}`, { errors });
}
