import fs from "node:fs";
import path from "node:path";
import { messageOf } from "../errors.ts";
import { migrations } from "./migrations/migrations.ts";

export interface StorageExamination {
  /** Where it is, without user and password. */
  readonly place: string;
  readonly state: "ready" | "empty" | "newer" | "unusable";
  /** What was found, in words. */
  readonly detail: string;
  /** How far the server's clock is ahead of ours, where there is a server. */
  readonly clockAheadMs?: number | undefined;
}

const waitMs = 3_000;

/** Looks at a storage without changing anything in it: what `tendon doctor` asks. */
export async function examineStorage(url: string, dataFolder: string): Promise<StorageExamination> {
  if (url === "sqlite:") return await examineFile(path.join(path.resolve(dataFolder), "tendon.db"));
  return await examineServer(url);
}

async function examineFile(place: string): Promise<StorageExamination> {
  if (!fs.existsSync(place)) return { place, state: "empty", detail: "made at the first start" };
  try {
    const { openSqliteFile } = await import("./sqlite-library.ts");
    const database = openSqliteFile(place);
    try {
      const [row] = database.prepare("select max(version) as version from tendon_schema").all();
      return { place, ...judged(Number((row as { version: number | null } | undefined)?.version ?? 0)) };
    } finally {
      database.close();
    }
  } catch (error) {
    return { place, state: "unusable", detail: messageOf(error) };
  }
}

async function examineServer(url: string): Promise<StorageExamination> {
  let place = "PostgreSQL";
  try {
    const { host, pathname } = new URL(url);
    place = `${host}${pathname}`;
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
      return { place, ...judged(Number(versions?.rows[0]?.version ?? 0)), clockAheadMs };
    } finally {
      await client.end();
    }
  } catch (error) {
    return { place, state: "unusable", detail: messageOf(error) };
  }
}

function judged(version: number): Pick<StorageExamination, "state" | "detail"> {
  if (version === 0) return { state: "empty", detail: "its tables are made at the first start" };
  if (version > migrations.length) {
    return {
      state: "newer",
      detail: `it was written by a newer Tendon: schema ${version}, this program knows up to ${migrations.length}`,
    };
  }
  const older = version < migrations.length ? ", brought up to date at the next start" : "";
  return { state: "ready", detail: `schema ${version}${older}` };
}
