/** A pool of PostgreSQL connections under kysely, with every wait bounded and broken connections thrown away. */
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from "kysely";
import pg from "pg";
import { messageOf } from "../errors.ts";
import { bindable } from "./codec.ts";
import type { Health } from "./health.ts";
import { StoreError } from "./store-error.ts";

/** Data exceptions, broken constraints, statements that do not fit the tables: the same again fails again. */
const refusals = new Set(["22", "23", "42"]);
/** The server goes on, only this statement did not: deadlocks, lock and statement timeouts. */
const passing = new Set(["40", "55"]);

class PostgresConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #health: Health;
  #broken = false;

  constructor(client: pg.PoolClient, health: Health) {
    this.#client = client;
    this.#health = health;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const parameters = query.parameters.map(bindable);
    try {
      const { rows, rowCount } = await this.#client.query(query.sql, parameters);
      this.#health.answered();
      return { rows: rows as Row[], ...(rowCount === null ? {} : { numAffectedRows: BigInt(rowCount) }) };
    } catch (error) {
      const fault = faultOf(error);
      this.#broken ||= fault.fault === "unavailable" && !isPassing(error);
      if (isPassing(error)) this.#health.answered();
      else this.#health.failed(fault);
      throw fault;
    }
  }

  // biome-ignore lint/correctness/useYield: nothing is streamed, pages are read instead.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new StoreError("refused", "streaming is not used");
  }

  release(): void {
    this.#client.release(this.#broken);
  }
}

export class PostgresDriver implements Driver {
  readonly #pool: pg.Pool;
  readonly #health: Health;

  constructor(pool: pg.Pool, health: Health) {
    this.#pool = pool;
    this.#health = health;
    // A connection that drops says so as an event; unheard, it would end the process.
    pool.on("error", (error) => health.lost(`PostgreSQL: ${error.message}`));
    pool.on("connect", (client) => client.on("error", () => {}));
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#health);
    } catch (error) {
      const fault = faultOf(error);
      this.#health.failed(fault);
      throw fault;
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin"));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("commit"));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("rollback"));
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof PostgresConnection) connection.release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && passing.has(error.code?.slice(0, 2) ?? "");
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const state = error instanceof pg.DatabaseError ? error.code : undefined;
  const refused = refusals.has(state?.slice(0, 2) ?? "");
  const detail = `PostgreSQL: ${messageOf(error)}${state === undefined ? "" : ` (${state})`}`;
  return new StoreError(refused ? "refused" : "unavailable", detail);
}
