import net from "node:net";
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import pg from "pg";
import { messageOf, StartError } from "../errors.ts";
import type { Database, Engine } from "./engine.ts";
import type { Health } from "./health.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import type { Tables } from "./tables.ts";

interface Waits {
  readonly connections: number;
  readonly statementMs: number;
  readonly lockMs: number;
}

/** Few: the gateway's own work is short, and many nodes share one server. */
const usual: Waits = { connections: 4, statementMs: 5_000, lockMs: 3_000 };
/** A migration may have to rewrite a large table, and wait for another node's. */
const migrating: Waits = { connections: 1, statementMs: 10 * 60_000, lockMs: 60_000 };
const connectMs = 3_000;
/** Longer than the server's own limit, so that the server's word comes first where it still speaks. */
const extraMs = 1_000;
/** Any number, as long as every version of Tendon uses the same. */
const migrationLock = 7_310_579;
const INT8 = 20;

export function openPostgres(url: string, health: Health): Engine {
  const place = placeOf(url);
  const sockets = new Set<net.Socket>();
  const db = connect(url, health, usual, sockets);
  return {
    kind: "postgres",
    db,
    place,
    // Batches wait for nobody here: the disk that is waited for is the server's.
    relaxed: async (work) => await work(db),
    alone: async (work) => {
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
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** `sockets` has the open ones, so that a server that does not say goodbye can be left. */
function connect(url: string, health: Health, waits: Waits, sockets: Set<net.Socket>): Database {
  const pool = new pg.Pool({
    connectionString: url,
    stream: () => {
      const socket = new net.Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      return socket;
    },
    max: waits.connections,
    connectionTimeoutMillis: connectMs,
    statement_timeout: waits.statementMs,
    query_timeout: waits.statementMs + extraMs,
    lock_timeout: waits.lockMs,
    idle_in_transaction_session_timeout: waits.statementMs + extraMs,
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

/** Milliseconds and counts fit into a number; the library would give them as text. */
const getTypeParser: typeof pg.types.getTypeParser = (id: number, format?: "text" | "binary") =>
  id === INT8 ? Number : pg.types.getTypeParser(id, format as "text");

function placeOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch (error) {
    throw new StartError(`\`storage\` is not an address (${messageOf(error)}).`);
  }
}
