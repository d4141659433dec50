import { type ImportReply, type ImportRow, limits, macMistake, normaliseDeviceId } from "@tendon/protocol";
import { maySee, type Principal, requireScope } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { ImportedDevice, Store } from "../store/store.ts";
import type { SealedKeys } from "./sealed-keys.ts";

interface RowProblem {
  readonly path: string;
  readonly message: string;
}

/**
 * Imported devices, which the gateway admits when they first ask. An import does not affect provisioned devices, and
 * repeating it changes nothing.
 */
export class Imports {
  readonly #store: Store;
  readonly #keys: SealedKeys;

  constructor(store: Store, keys: SealedKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Imports all rows or none. */
  async add(principal: Principal, rows: readonly ImportRow[]): Promise<ImportReply> {
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
    const imported = await imports.add(devices.map(({ row, id = "" }) => this.#sealed(row, id)));
    return { imported, total: await imports.count() };
  }

  #sealed({ serial, hmacKey, tags = [] }: ImportRow, device: string): ImportedDevice {
    const sealedKey =
      hmacKey === undefined ? undefined : this.#keys.seal(device, Buffer.from(hmacKey, "hex"));
    return { device, serial, sealedKey, tags };
  }
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
