/**
 * Writes many devices in one transaction: when a town's power is back, thousands of boards connect in the same minute,
 * and a transaction for each would wait for the disk each time. Every table gets one statement for all of them.
 */
import { sql } from "kysely";
import type { Clock } from "../clock.ts";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { bindable, flag, identifier } from "./codec.ts";
import { columnNames, columnNamesOf, type StoredDevice, writeDevice } from "./device-row.ts";
import type { Database } from "./engine.ts";
import type { DevicesTable } from "./tables.ts";
import { contentOf, removeUnused, type ToolList } from "./tool-lists.ts";

export interface DeviceWrite {
  readonly device: StoredDevice;
  /** An existing device gets just these fields; `undefined` for all. */
  readonly only: readonly (keyof StoredDevice)[] | undefined;
  /** Its tools, if they changed. */
  readonly list: ToolList | undefined;
}

interface Claim {
  readonly alias: string;
  readonly device: string;
  readonly now: number;
}

interface ListRow {
  readonly device: string;
  readonly digest: string;
  readonly list: ToolList;
  readonly now: number;
}

const empty = "";

export class DeviceGroups {
  readonly #clock: Clock;
  readonly #claimAliases = new BulkStatement<Claim>({
    write: (db, rows) =>
      db
        .insertInto("tendon_aliases")
        .values(repeated(rows, { alias: empty, device: empty, current: 1, given_at: 0 }))
        .onConflict((conflict) =>
          conflict
            .column("alias")
            .doUpdateSet((eb) => ({
              device: eb.ref("excluded.device"),
              current: eb.ref("excluded.current"),
              given_at: eb.ref("excluded.given_at"),
            }))
            .where((eb) =>
              eb.or([
                eb("tendon_aliases.device", "=", eb.ref("excluded.device")),
                eb("tendon_aliases.current", "=", eb.lit(0)),
              ]),
            ),
        )
        .returning("alias")
        .compile(),
    bind: ({ alias, device, now }, into) => into.push(alias, device, 1, bindable(now)),
  });
  readonly #currentAliases = new BulkStatement<string>({
    write: (db, rows) =>
      db
        .selectFrom("tendon_aliases")
        .select(["alias", "device"])
        .where("device", "in", repeated(rows, empty))
        .where("current", "=", sql.lit(1))
        .compile(),
    bind: (device, into) => into.push(device),
  });
  readonly #formerAliases = new BulkStatement<string>({
    write: (db, rows) =>
      db
        .updateTable("tendon_aliases")
        .set({ current: sql.lit(0) })
        .where("alias", "in", repeated(rows, empty))
        .compile(),
    bind: (alias, into) => into.push(alias),
  });
  /** By the columns that an existing device gets. */
  readonly #devices = new Map<string, BulkStatement<DevicesTable>>();
  readonly #lists = new BulkStatement<ListRow>({
    write: (db, rows) =>
      db
        .insertInto("tendon_tool_lists")
        .values(repeated(rows, { device: empty, digest: empty, complete: 0, problem: null, listed_at: 0 }))
        .onConflict((conflict) =>
          conflict.column("device").doUpdateSet((eb) => ({
            digest: eb.ref("excluded.digest"),
            complete: eb.ref("excluded.complete"),
            problem: eb.ref("excluded.problem"),
            listed_at: eb.ref("excluded.listed_at"),
          })),
        )
        .compile(),
    bind: ({ device, digest, list, now }, into) =>
      into.push(device, digest, flag(list.complete), bindable(list.problem ?? null), bindable(now)),
  });
  readonly #earlierLists = new BulkStatement<string>({
    write: (db, rows) =>
      db
        .selectFrom("tendon_tool_lists as list")
        .innerJoin("tendon_tool_contents as content", "content.digest", "list.digest")
        .select(["list.device", "list.digest", "content.used_at"])
        .where("list.device", "in", repeated(rows, empty))
        .compile(),
    bind: (device, into) => into.push(device),
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Each device at most once, inside the caller's transaction. Returns the ids whose alias belongs to another device;
   * these are not written.
   */
  async save(tx: Database, writes: readonly DeviceWrite[]): Promise<ReadonlySet<string>> {
    // In one order on every node, so that two nodes do not wait for each other's rows.
    const ordered = writes.toSorted((one, other) => (one.device.id < other.device.id ? -1 : 1));
    const taken = await this.#takeAliases(tx, ordered);
    const free = taken.size === 0 ? ordered : ordered.filter(({ device }) => !taken.has(device.id));
    await this.#saveDevices(tx, free);
    await this.#saveLists(tx, free);
    return taken;
  }

  /** Sets the aliases as `claimAlias` does. */
  async #takeAliases(tx: Database, writes: readonly DeviceWrite[]): Promise<ReadonlySet<string>> {
    const now = this.#clock.now();
    const claims = writes.map(({ device: { id, alias } }) => ({
      device: identifier(id, "the device's id"),
      alias: identifier(alias, "the alias"),
      now,
    }));
    const claimed = await this.#claimAliases.read<{ alias: string }>(tx, claims);
    const taken = new Set<string>();
    if (claimed.length < claims.length) {
      const aliases = new Set(claimed.map(({ alias }) => alias));
      for (const { device, alias } of claims) if (!aliases.has(alias)) taken.add(device);
    }
    const aliasOf = new Map(claims.map(({ device, alias }) => [device, alias]));
    const owners = claims.map(({ device }) => device).filter((device) => !taken.has(device));
    const current = await this.#currentAliases.read<{ alias: string; device: string }>(tx, owners);
    const former = current.filter(({ alias, device }) => aliasOf.get(device) !== alias);
    await this.#formerAliases.run(
      tx,
      former.map(({ alias }) => alias),
    );
    return taken;
  }

  async #saveDevices(tx: Database, writes: readonly DeviceWrite[]): Promise<void> {
    const groups = new Map<string, { only: DeviceWrite["only"]; rows: DevicesTable[] }>();
    for (const { device, only } of writes) {
      const columns = only?.join() ?? "*";
      const group = groups.get(columns) ?? { only, rows: [] };
      groups.set(columns, group);
      group.rows.push(writeDevice(device));
    }
    for (const [columns, { only, rows }] of groups) await this.#statement(columns, only).run(tx, rows);
  }

  #statement(key: string, only: DeviceWrite["only"]): BulkStatement<DevicesTable> {
    const known = this.#devices.get(key);
    if (known !== undefined) return known;
    const set = only === undefined ? columnNames.filter((column) => column !== "id") : columnNamesOf(only);
    const created = new BulkStatement<DevicesTable>({
      write: (db, rows) =>
        db
          .insertInto("tendon_devices")
          .values(repeated(rows, placeholder))
          .onConflict((conflict) => {
            const same = conflict.column("id");
            return set.length === 0
              ? same.doNothing()
              : same.doUpdateSet((eb) =>
                  Object.fromEntries(set.map((column) => [column, eb.ref(`excluded.${column}`)])),
                );
          })
          .compile(),
      bind: (row, into) => into.push(...columnNames.map((column) => bindable(row[column]))),
    });
    this.#devices.set(key, created);
    return created;
  }

  async #saveLists(tx: Database, writes: readonly DeviceWrite[]): Promise<void> {
    const now = this.#clock.now();
    const rows: ListRow[] = [];
    const contents = new Map<string, string>();
    for (const { device, list } of writes) {
      if (list === undefined) continue;
      const { content, digest } = contentOf(list);
      contents.set(digest, content);
      rows.push({ device: device.id, digest, list, now });
    }
    if (rows.length === 0) return;
    const earlier = await this.#earlierLists.read<{ device: string; digest: string; used_at: number }>(
      tx,
      rows.map(({ device }) => device),
    );
    for (const digest of [...contents.keys()].sort()) {
      await tx
        .insertInto("tendon_tool_contents")
        .values({ digest, content: contents.get(digest) ?? "", used_at: now })
        // Updated even if it exists, so that `pruneUnused` does not delete it meanwhile.
        .onConflict((conflict) => conflict.column("digest").doUpdateSet({ used_at: now }))
        .execute();
    }
    await this.#lists.run(tx, rows);
    const superseded = new Map(earlier.map((list) => [list.digest, list]));
    for (const [digest, list] of superseded) if (!contents.has(digest)) await removeUnused(tx, list);
  }
}

/** A row from which statements are compiled: the order of its columns is that of the parameters. */
const placeholder: DevicesTable = writeDevice({
  id: empty,
  kind: empty,
  clientIdHash: undefined,
  alias: empty,
  aliasChosen: false,
  tags: [],
  board: undefined,
  firmware: undefined,
  protocolVersion: undefined,
  transport: undefined,
  transportSetting: undefined,
  approval: "approved",
  serial: undefined,
  sealedKey: undefined,
  generation: 0,
  createdAt: 0,
  lapsesAt: undefined,
  lastSeenAt: undefined,
  lastDisconnectAt: undefined,
  lastDisconnectReason: undefined,
});
