/** One SQLite connection for kysely. Callers queue for it, for a bounded time. */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { bindable } from "./codec.ts";
import type { Health } from "./health.ts";
import type { SqliteDatabase, SqliteStatement } from "./sqlite-library.ts";
import { StoreError } from "./store-error.ts";

const acquireTimeoutMs = 10_000;
const statementsKept = 256;
/** SQLITE_ERROR, TOOBIG, CONSTRAINT, MISMATCH, RANGE: errors of the statement itself. */
const refusals = new Set([1, 18, 19, 20, 25]);
const refusalMessages = /constraint failed|datatype mismatch|too big|syntax error|no such (table|column)/i;

interface Prepared {
  readonly statement: SqliteStatement;
  /** Only a statement with columns returns rows. */
  readonly reader: boolean;
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: SqliteDatabase;
  readonly #health: Health;
  readonly #prepared = new Map<string, Prepared>();
  #inTransaction = false;
  /** Whether the commit writes to the file. */
  #changed = false;

  constructor(database: SqliteDatabase, health: Health) {
    this.#database = database;
    this.#health = health;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const parameters = query.parameters.map(bindable);
    try {
      const { statement, reader } = this.#prepare(query.sql);
      // Also statements that write and return rows. Their success is known at the commit.
      if (reader) return { rows: statement.all(...parameters) as Row[] };
      const { changes } = statement.run(...parameters);
      this.#changed ||= changes > 0;
      if (!this.#inTransaction) this.#written();
      return { rows: [], numAffectedRows: BigInt(changes) };
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /** `immediate`, so that two processes cannot both read and then both try to write. */
  begin(): void {
    this.#do("begin immediate");
    this.#inTransaction = true;
    this.#changed = false;
  }

  commit(): void {
    this.#do("commit");
    this.#inTransaction = false;
    this.#written();
  }

  /** Some errors, such as a full disk, have already rolled the transaction back. */
  rollback(): void {
    this.#inTransaction = false;
    this.#changed = false;
    try {
      this.#database.exec("rollback");
    } catch (error) {
      if (!/no transaction is active/i.test(messageOf(error))) throw this.#fault(error);
    }
  }

  #do(sql: string): void {
    try {
      this.#database.exec(sql);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /** Only a completed write proves that the database is available: on a full disk, `begin` and reads succeed. */
  #written(): void {
    if (this.#changed) this.#health.answered();
    this.#changed = false;
  }

  #fault(error: unknown): StoreError {
    const fault = faultOf(error);
    if (fault.fault === "unavailable") this.#health.failed(fault);
    return fault;
  }

  // biome-ignore lint/correctness/useYield: the store reads pages and streams nothing.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new StoreError("refused", "streaming is not used");
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, reader: statement.columns().length > 0 };
    if (this.#prepared.size >= statementsKept) this.#prepared.clear();
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

export class SqliteDriver implements Driver {
  readonly #database: SqliteDatabase;
  readonly #connection: SqliteConnection;
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  constructor(database: SqliteDatabase, health: Health, clock: Clock) {
    this.#database = database;
    this.#connection = new SqliteConnection(database, health);
    this.#clock = clock;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#taken) await this.#waitForConnection();
    this.#taken = true;
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    this.#connection.begin();
  }

  async commitTransaction(): Promise<void> {
    this.#connection.commit();
  }

  async rollbackTransaction(): Promise<void> {
    this.#connection.rollback();
  }

  /** Passes the connection directly to the next caller, so that no other can take it in between. */
  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }

  async destroy(): Promise<void> {
    this.#database.close();
  }

  #waitForConnection(): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        timer.cancel();
        resolve();
      };
      const timer = this.#clock.after(acquireTimeoutMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(new StoreError("unavailable", "the database was busy for too long"));
      });
      this.#waiting.push(go);
    });
  }
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = messageOf(error);
  const number = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  const refused = number === undefined ? refusalMessages.test(message) : refusals.has(number);
  return new StoreError(refused ? "refused" : "unavailable", `SQLite: ${message}`);
}
