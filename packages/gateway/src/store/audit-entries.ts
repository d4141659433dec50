import type { JsonObject } from "@tendon/protocol";
import type { ExpressionBuilder } from "kysely";
import { TendonError } from "../errors.ts";
import type { Buffers } from "./buffers.ts";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { fromJson, toJson } from "./codec.ts";
import type { Database, Engine } from "./engine.ts";
import type { AuditTable, Tables } from "./tables.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** One change by one principal. */
export interface AuditEntry {
  readonly id: string;
  readonly at: number;
  readonly principal: string;
  /** Unique, unlike the name. Entries of earlier versions have none. */
  readonly principalId: string | undefined;
  /** What happened, such as `token.create`. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string; readonly name: string };
  /** The address that the request came from. */
  readonly from: string;
  readonly detail: JsonObject | undefined;
}

export interface AuditQuery {
  readonly since?: number | undefined;
  readonly principal?: string | undefined;
  readonly action?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly nextCursor: string | undefined;
}

const delayMs = 50;
const maxRows = 20_000;
const maxBytes = 16 * 1024 * 1024;
const rowBytes = 400;
const defaultPage = 100;
const largestPage = 1_000;

/** Entries are added and read. Retention deletes those that are too old; only `eraseDevice` changes entries. */
export class AuditEntries {
  readonly #db: Database;
  readonly #buffer: WriteBuffer<AuditTable>;

  constructor(engine: Engine, buffers: Buffers) {
    this.#db = engine.db;
    const insert = auditInsert();
    this.#buffer = buffers.make<AuditTable>({
      what: "audit",
      delayMs,
      maxRows,
      maxBytes,
      bytesOf: ({ detail }) => rowBytes + (detail?.length ?? 0),
      write: async (rows) => await insert.run(engine.db, rows),
    });
  }

  /** Durable when it resolves. While the database is unavailable it resolves at once, and the entry is written later. */
  async append(entry: AuditEntry): Promise<void> {
    const { id, at, principal, principalId, action, target, from, detail } = entry;
    this.#buffer.push({
      id,
      at,
      principal,
      action,
      target_type: target.type,
      target_id: target.id,
      target_name: target.name,
      source: from,
      detail: detail === undefined ? null : toJson(detail),
      principal_id: principalId ?? null,
    });
    await this.#buffer.flush().catch(() => undefined);
  }

  /** Newest first. */
  async query(query: AuditQuery): Promise<AuditPage> {
    await this.#buffer.flush();
    const limit = Math.min(Math.max(query.limit ?? defaultPage, 1), largestPage);
    const rows = await this.#db
      .selectFrom("tendon_audit")
      .selectAll()
      .where((eb) => eb.and([...conditions(eb, query)]))
      .orderBy("at", "desc")
      .orderBy("id", "desc")
      .limit(limit + 1)
      .execute();
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const more = rows.length > limit && last !== undefined;
    return { entries: page.map(read), nextCursor: more ? `${last.at}.${last.id}` : undefined };
  }

  /** Replaces the names and tags of a device in its entries. Actor, time, action and id stay. */
  async eraseDevice(device: string): Promise<void> {
    await this.#buffer.flush();
    const ofDevice = (eb: ExpressionBuilder<Tables, "tendon_audit">) =>
      eb.and([eb("target_type", "=", "device"), eb("target_id", "=", device)]);
    await this.#db.updateTable("tendon_audit").set({ target_name: device }).where(ofDevice).execute();
    await this.#db
      .updateTable("tendon_audit")
      .set({ detail: toJson({ erased: true }) })
      .where(ofDevice)
      .where("action", "in", ["device.rename", "device.tag"])
      .execute();
  }

  /** Whether an entry has the name of this device, or its tags. */
  async namesDevice(device: string): Promise<boolean> {
    await this.#buffer.flush();
    const row = await this.#db
      .selectFrom("tendon_audit")
      .select("id")
      .where("target_type", "=", "device")
      .where("target_id", "=", device)
      .where("target_name", "!=", device)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** Returns the number of deleted entries. */
  async prune(olderThan: number, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_audit")
      .where("id", "in", (eb) =>
        eb.selectFrom("tendon_audit").select("id").where("at", "<", olderThan).orderBy("at").limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }
}

function* conditions(eb: ExpressionBuilder<Tables, "tendon_audit">, query: AuditQuery) {
  const { since, principal, action, cursor } = query;
  if (since !== undefined) yield eb("at", ">=", since);
  if (principal !== undefined) yield eb("principal", "=", principal);
  if (action !== undefined) yield eb("action", "=", action);
  if (cursor === undefined) return;
  const [, at = "", id = ""] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (id === "")
    throw new TendonError("bad_request", "`cursor` is not valid. Use the `nextCursor` of an earlier page.");
  const before = Number(at);
  yield eb.or([eb("at", "<", before), eb.and([eb("at", "=", before), eb("id", "<", id)])]);
}

function read(row: AuditTable): AuditEntry {
  return {
    id: row.id,
    at: row.at,
    principal: row.principal,
    principalId: row.principal_id ?? undefined,
    action: row.action,
    target: { type: row.target_type, id: row.target_id, name: row.target_name },
    from: row.source,
    detail: row.detail === null ? undefined : fromJson<JsonObject>(row.detail),
  };
}

function auditInsert(): BulkStatement<AuditTable> {
  const empty: AuditTable = {
    id: "",
    at: 0,
    principal: "",
    action: "",
    target_type: "",
    target_id: "",
    target_name: "",
    source: "",
    detail: null,
    principal_id: null,
  };
  return new BulkStatement<AuditTable>({
    write: (db, rows) =>
      db
        .insertInto("tendon_audit")
        .values(repeated(rows, empty))
        .onConflict((conflict) => conflict.column("id").doNothing())
        .compile(),
    bind(row, into) {
      into.push(row.id, row.at, row.principal, row.action);
      into.push(row.target_type, row.target_id, row.target_name, row.source, row.detail);
      into.push(row.principal_id);
    },
  });
}
