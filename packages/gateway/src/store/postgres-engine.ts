import net from "node:net";
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import pg from "pg";
import { messageOf, StartError } from "../errors.ts";
import type { Database, Engine } from "./engine.ts";
import type { Health } from "./health.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import type { Tables } from "./tables.ts";

interface PoolLimits {
  readonly connections: number;
  readonly statementMs: number;
  readonly lockMs: number;
}

/** Few connections: statements are short, and many nodes share one server. */
const usual: PoolLimits = { connections: 4, statementMs: 5_000, lockMs: 3_000 };
/** A migration may rewrite a large table and wait for another node's migration. */
const migrating: PoolLimits = { connections: 1, statementMs: 10 * 60_000, lockMs: 60_000 };
const connectMs = 3_000;
/** Longer than the server's own limit, so that the server's error arrives first. */
const extraMs = 1_000;
/** Arbitrary, but the same in every version of Tendon. */
const migrationLock = 7_310_579;
const INT8 = 20;

export function openPostgres(url: string, health: Health): Engine {
  const location = locationOf(url);
  const sockets = new Set<net.Socket>();
  const db = connect(url, health, usual, sockets);
  return {
    kind: "postgres",
    db,
    location,
    // Waiting for the server's disk does not block this process.
    relaxed: async (work) => await work(db),
    exclusive: async (work) => {
      const own = connect(url, health, migrating, sockets);
      try {
        return await own.transaction().execute(async (tx) => {
          await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(tx);
          return await work(tx);
        });
      } finally {
        await own.destroy();
      }
    },
    close: async () => await db.destroy(),
    terminate() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** `sockets` gets the open sockets, so that `terminate` can drop them. */
function connect(url: string, health: Health, limits: PoolLimits, sockets: Set<net.Socket>): Database {
  const pool = new pg.Pool({
    connectionString: url,
    stream: () => {
      const socket = new net.Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      return socket;
    },
    max: limits.connections,
    connectionTimeoutMillis: connectMs,
    statement_timeout: limits.statementMs,
    query_timeout: limits.statementMs + extraMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.statementMs + extraMs,
    keepAlive: true,
    application_name: "tendon",
    types: { getTypeParser },
  });
  return new Kysely<Tables>({
    dialect: {
      createDriver: () => new PostgresDriver(pool, health),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
}

/** Milliseconds and counts fit into a number. By default the library returns them as text. */
const getTypeParser: typeof pg.types.getTypeParser = (id: number, format?: "text" | "binary") =>
  id === INT8 ? Number : pg.types.getTypeParser(id, format as "text");

function locationOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch (error) {
    throw new StartError(
      `\`storage\` is not a valid URL (${messageOf(error)}). Use \`postgres://user:password@host/database\`.`,
    );
  }
}
