/** The imported devices in the order of their ids, page by page, and how many there are. */
import { type ExpressionBuilder, type SelectQueryBuilder, sql } from "kysely";
import { fromJson, optional } from "./codec.ts";
import { type Database, yieldToEventLoop } from "./engine.ts";
import type { DevicesTable, ImportsTable, Tables } from "./tables.ts";

/** One row of the list, without its key. */
export interface ListedImport {
  readonly device: string;
  readonly serial: string | undefined;
  readonly hasKey: boolean;
  readonly tags: readonly string[];
  readonly importedAt: number;
  /** When the device was last connected; `undefined` if it never was. */
  readonly lastSeenAt: number | undefined;
}

export interface ImportFilter {
  /** Parts of an id, a serial number or a tag, in lower case. One match is enough. */
  readonly texts?: readonly string[] | undefined;
  readonly tag?: string | undefined;
  /** Whether the device has connected at least once. */
  readonly connected?: boolean | undefined;
  readonly importedAt?: number | undefined;
  /** Only these ids, and devices with one of these tags. A device that is known has its own tags, else those of its row. */
  readonly only?: { readonly ids: readonly string[]; readonly tags: readonly string[] } | undefined;
}

export interface ImportPage {
  readonly imports: readonly ListedImport[];
  /** The id to continue after; `undefined` at the end of the list. */
  readonly next: string | undefined;
}

/** Rows that one query reads. SQLite runs synchronously, so this bounds how long others wait. */
const stepRows = 5_000;
/** A page of a filter that few rows match ends after this many, so that its work is bounded. */
const pageSteps = 4;

interface Joined extends Tables {
  row: ImportsTable;
  /** The left join makes every column of the device nullable. */
  known: { [Column in keyof DevicesTable]: DevicesTable[Column] | null };
}
type Conditions = ExpressionBuilder<Joined, "row" | "known">;

export class ImportList {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** At most `limit` rows after the id. A page may have fewer rows although there are more: `next` tells. */
  async page(filter: ImportFilter, limit: number, after = ""): Promise<ImportPage> {
    const imports: ListedImport[] = [];
    let from = after;
    for (let step = 0; step < pageSteps; step += 1) {
      const end = await this.#endOfStep(from);
      const missing = limit - imports.length;
      const rows = await this.#rows(filter, from, end, missing + 1);
      imports.push(...rows.slice(0, missing));
      if (rows.length > missing) return { imports, next: imports.at(-1)?.device };
      if (end === undefined) return { imports, next: undefined };
      from = end;
      await yieldToEventLoop();
    }
    return { imports, next: from };
  }

  async count(filter: ImportFilter): Promise<number> {
    if (isEmpty(filter)) return await this.#countAll();
    let total = 0;
    for (let from = ""; ; ) {
      const end = await this.#endOfStep(from);
      const row = await this.#matching(filter, from, end)
        .select((eb) => eb.fn.countAll().as("count"))
        .executeTakeFirst();
      total += Number(row?.count ?? 0);
      if (end === undefined) return total;
      from = end;
      await yieldToEventLoop();
    }
  }

  async #countAll(): Promise<number> {
    const row = await this.#db
      .selectFrom("tendon_imports")
      .select((eb) => eb.fn.countAll().as("count"))
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** The last id of the next step; `undefined` if the step reaches the end of the table. */
  async #endOfStep(after: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom("tendon_imports")
      .select("device")
      .where("device", ">", after)
      .orderBy("device")
      .limit(1)
      .offset(stepRows - 1)
      .executeTakeFirst();
    return row?.device;
  }

  async #rows(
    filter: ImportFilter,
    after: string,
    end: string | undefined,
    limit: number,
  ): Promise<ListedImport[]> {
    const rows = await this.#matching(filter, after, end)
      .select(["row.device", "row.serial", "row.tags", "row.imported_at", "known.last_seen_at"])
      .select((eb) => eb("row.sealed_key", "is not", null).as("has_key"))
      .orderBy("row.device")
      .limit(limit)
      .execute();
    return rows.map((row) => ({
      device: row.device,
      serial: optional(row.serial),
      // SQLite has no booleans.
      hasKey: Boolean(row.has_key),
      tags: fromJson<string[]>(row.tags),
      importedAt: row.imported_at,
      lastSeenAt: optional(row.last_seen_at),
    }));
  }

  #matching(
    filter: ImportFilter,
    after: string,
    end: string | undefined,
  ): SelectQueryBuilder<Joined, "row" | "known", object> {
    const query = this.#db
      .selectFrom("tendon_imports as row")
      .leftJoin("tendon_devices as known", "known.id", "row.device")
      .where("row.device", ">", after);
    const step = end === undefined ? query : query.where("row.device", "<=", end);
    return step.where((eb) => eb.and([...conditions(eb, filter)]));
  }
}

function isEmpty(filter: ImportFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

function* conditions(eb: Conditions, { texts, tag, connected, importedAt, only }: ImportFilter) {
  if (connected !== undefined) yield eb("known.last_seen_at", connected ? "is not" : "is", null);
  if (importedAt !== undefined) yield eb("row.imported_at", "=", importedAt);
  if (tag !== undefined) yield hasTag(sql.ref("row.tags"), tag);
  if (texts !== undefined)
    yield eb.or(
      texts.flatMap((text) => [
        contains(sql.ref("row.device"), text),
        contains(sql.ref("row.serial"), text),
        ...(isPartOfTag.test(text) ? [contains(sql.ref("row.tags"), text)] : []),
      ]),
    );
  if (only === undefined) return;
  const tags = sql`coalesce(known.tags, row.tags)`;
  yield eb.or([
    ...(only.ids.length === 0 ? [] : [eb("row.device", "in", only.ids)]),
    ...only.tags.map((each) => hasTag(tags, each)),
  ]);
}

/** Tags are stored as a JSON list: a text with other characters would match its brackets and quotes. */
const isPartOfTag = /^[a-z0-9_.:-]+$/;

/** `replace` respects the case in both databases; `like` does not in SQLite. */
function hasTag(column: ReturnType<typeof sql>, tag: string) {
  return sql<boolean>`replace(${column}, ${JSON.stringify(tag)}, '') <> ${column}`;
}

function contains(column: ReturnType<typeof sql>, text: string) {
  return sql<boolean>`lower(${column}) like ${`%${text.replaceAll(/[\\%_]/g, "\\$&")}%`} escape '\\'`;
}
