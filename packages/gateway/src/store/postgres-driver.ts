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
/** Wrong name or password, no such database: nothing that waiting would mend. */
const hopeless = new Set(["28", "3D"]);

class PostgresConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #health: Health;
  readonly #onRelease: () => void;
  #broken = false;

  constructor(client: pg.PoolClient, health: Health, onRelease: () => void) {
    this.#client = client;
    this.#health = health;
    this.#onRelease = onRelease;
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
    this.#onRelease();
  }
}

export class PostgresDriver implements Driver {
  readonly #pool: pg.Pool;
  readonly #health: Health;
  /** Connections that somebody uses or waits for. */
  #busy = 0;

  constructor(pool: pg.Pool, health: Health) {
    this.#pool = pool;
    this.#health = health;
    // A connection that drops says so as an event; unheard, it would end the process.
    pool.on("error", (error) => health.lost(`PostgreSQL: ${error.message}`));
    pool.on("connect", (client) => client.on("error", () => {}));
  }

  async init(): Promise<void> {}

  /** While the server is away one at a time finds out whether it is back; the others need not wait for that. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#health.away && this.#busy > 0)
      throw new StoreError("unavailable", "PostgreSQL has not answered lately");
    this.#busy += 1;
    const done = () => {
      this.#busy -= 1;
    };
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#health, done);
    } catch (error) {
      done();
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
  return new StoreError(refused ? "refused" : "unavailable", detail, {
    hopeless: hopeless.has(state?.slice(0, 2) ?? ""),
  });
}
