import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../errors.ts";
import { migrations } from "./migrations/migrations.ts";

export interface StorageExamination {
  /** Without user and password. */
  readonly location: string;
  readonly state: "ready" | "empty" | "newer" | "unusable";
  /** The finding, for people. */
  readonly detail: string;
  /** How far the database server's clock is ahead of ours. */
  readonly clockAheadMs?: number | undefined;
}

const waitMs = 3_000;

/** Inspects a storage without changing it, for `tendon doctor`. */
export async function examineStorage(url: string, dataFolder: string): Promise<StorageExamination> {
  if (url === "sqlite:") return await examineFile(path.join(path.resolve(dataFolder), "tendon.db"));
  return await examineServer(url);
}

async function examineFile(location: string): Promise<StorageExamination> {
  if (!fs.existsSync(location))
    return { location, state: "empty", detail: "will be created at the first start" };
  try {
    const { openSqliteFile } = await import("./sqlite-library.ts");
    const database = openSqliteFile(location);
    try {
      const [row] = database.prepare("select max(version) as version from tendon_schema").all();
      return {
        location,
        ...describeSchema(Number((row as { version: number | null } | undefined)?.version ?? 0)),
      };
    } finally {
      database.close();
    }
  } catch (error) {
    return { location, state: "unusable", detail: messageOf(error) };
  }
}

async function examineServer(url: string): Promise<StorageExamination> {
  let location = "PostgreSQL";
  try {
    const { host, pathname } = new URL(url);
    location = `${host}${pathname}`;
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: waitMs,
      query_timeout: waitMs,
      application_name: "tendon doctor",
    });
    client.on("error", () => {});
    await client.connect();
    try {
      const asked = Date.now();
      const { rows } = await client.query<{ at: number; made: string | null }>(
        "select extract(epoch from clock_timestamp()) * 1000 as at, to_regclass('tendon_schema')::text as made",
      );
      const [row] = rows;
      const clockAheadMs = Math.round(Number(row?.at) - (asked + Date.now()) / 2);
      const known = row?.made !== null;
      const versions = known
        ? await client.query<{ version: number | null }>("select max(version) as version from tendon_schema")
        : undefined;
      return { location, ...describeSchema(Number(versions?.rows[0]?.version ?? 0)), clockAheadMs };
    } finally {
      await client.end();
    }
  } catch (error) {
    return { location, state: "unusable", detail: messageOf(error) };
  }
}

function describeSchema(version: number): Pick<StorageExamination, "state" | "detail"> {
  if (version === 0) return { state: "empty", detail: "its tables will be created at the first start" };
  if (version > migrations.length) {
    return {
      state: "newer",
      detail: `created by a newer version of Tendon: schema ${version}; this version supports up to ${migrations.length}`,
    };
  }
  const older = version < migrations.length ? ", will be updated at the next start" : "";
  return { state: "ready", detail: `schema ${version}${older}` };
}
