/** A pool of PostgreSQL connections for kysely. Every wait is bounded, and broken connections are discarded. */
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from "kysely";
import pg from "pg";
import { messageOf } from "../errors.ts";
import { bindable } from "./codec.ts";
import type { Health } from "./health.ts";
import { StoreError } from "./store-error.ts";

/** Data exceptions, constraint violations, invalid statements: a retry fails again. */
const refusals = new Set(["22", "23", "42"]);
/** Deadlocks, lock and statement timeouts: only this statement failed. */
const transient = new Set(["40", "55"]);
/** Wrong user or password, missing database: a retry cannot succeed. */
const permanent = new Set(["28", "3D"]);

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
      this.#broken ||= fault.fault === "unavailable" && !isTransient(error);
      if (isTransient(error)) this.#health.answered();
      else this.#health.failed(fault);
      throw fault;
    }
  }

  // biome-ignore lint/correctness/useYield: the store reads pages and streams nothing.
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
  /** Connections in use or being acquired. */
  #busy = 0;

  constructor(pool: pg.Pool, health: Health) {
    this.#pool = pool;
    this.#health = health;
    // Without listeners, the error event of a dropped connection would end the process.
    pool.on("error", (error) => health.lost(`PostgreSQL: ${error.message}`));
    pool.on("connect", (client) => client.on("error", () => {}));
  }

  async init(): Promise<void> {}

  /** While the server is unavailable, one caller at a time tries to connect. The others fail at once. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#health.unavailable && this.#busy > 0)
      throw new StoreError("unavailable", "PostgreSQL is not answering");
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

function isTransient(error: unknown): boolean {
  return error instanceof pg.DatabaseError && transient.has(error.code?.slice(0, 2) ?? "");
}

function faultOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const state = error instanceof pg.DatabaseError ? error.code : undefined;
  const refused = refusals.has(state?.slice(0, 2) ?? "");
  const detail = `PostgreSQL: ${messageOf(error)}${state === undefined ? "" : ` (${state})`}`;
  return new StoreError(refused ? "refused" : "unavailable", detail, {
    permanent: permanent.has(state?.slice(0, 2) ?? ""),
  });
}
