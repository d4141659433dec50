/** When devices and tokens were last heard of: told often, written together, the newest word only. */
import { type RawBuilder, sql } from "kysely";
import type { Buffers } from "./buffers.ts";
import type { Database, Engine } from "./engine.ts";
import type { WriteBuffer } from "./write-buffer.ts";

interface DeviceNews {
  readonly id: string;
  readonly seenAt: number;
  readonly transport: string | undefined;
  readonly left: { readonly at: number; readonly reason: string } | undefined;
}

interface TokenNews {
  readonly id: string;
  readonly usedAt: number;
}

/** Devices come and go seldom; tokens are used all the time. */
const deviceDelayMs = 50;
const tokenDelayMs = 1_000;
/** More than one node can hold; beyond it, the oldest news are the least missed. */
const maxRows = 200_000;
const maxBytes = 64 * 1024 * 1024;
const rowBytes = 200;

export class Presence {
  readonly #devices: WriteBuffer<DeviceNews>;
  readonly #tokens: WriteBuffer<TokenNews>;

  constructor(engine: Engine, buffers: Buffers) {
    const shared = { maxRows, maxBytes };
    this.#devices = buffers.make<DeviceNews>({
      ...shared,
      what: "last seen of devices",
      delayMs: deviceDelayMs,
      bytesOf: ({ left }) => rowBytes + (left?.reason.length ?? 0) * 2,
      merge: (old, newer) => ({
        ...newer,
        transport: newer.transport ?? old.transport,
        left: newer.left ?? old.left,
      }),
      write: async (rows) => await engine.relaxed(async (db) => await writeDevices(db, rows)),
    });
    this.#tokens = buffers.make<TokenNews>({
      ...shared,
      what: "last use of tokens",
      delayMs: tokenDelayMs,
      bytesOf: () => rowBytes,
      write: async (rows) => await engine.relaxed(async (db) => await writeTokens(db, rows)),
    });
  }

  deviceSeen(id: string, at: number, transport?: string): void {
    this.#devices.push({ id, seenAt: at, transport, left: undefined }, id);
  }

  deviceLeft(id: string, seenAt: number, at: number, reason: string): void {
    this.#devices.push({ id, seenAt, transport: undefined, left: { at, reason } }, id);
  }

  tokenUsed(id: string, at: number): void {
    this.#tokens.push({ id, usedAt: at }, id);
  }
}

/** Both databases call the columns of a bare VALUES column1, column2, …; PostgreSQL wants to be told their types. */
async function writeDevices(db: Database, rows: readonly DeviceNews[]): Promise<void> {
  const values = rows.map(
    ({ id, seenAt, transport, left }) =>
      sql`(${text(id)}, ${whole(seenAt)}, ${text(transport ?? null)}, ${whole(left?.at ?? null)}, ${text(left?.reason ?? null)})`,
  );
  await sql`
    update tendon_devices set
      last_seen_at = news.column2,
      transport = coalesce(news.column3, tendon_devices.transport),
      last_disconnect_at = coalesce(news.column4, tendon_devices.last_disconnect_at),
      last_disconnect_reason = coalesce(news.column5, tendon_devices.last_disconnect_reason)
    from (values ${sql.join(values)}) as news
    where tendon_devices.id = news.column1 and tendon_devices.id in (${idsOf(rows)})
  `.execute(db);
}

async function writeTokens(db: Database, rows: readonly TokenNews[]): Promise<void> {
  const values = rows.map(({ id, usedAt }) => sql`(${text(id)}, ${whole(usedAt)})`);
  await sql`
    update tendon_tokens set last_used_at = news.column2
    from (values ${sql.join(values)}) as news
    where tendon_tokens.id = news.column1 and tendon_tokens.id in (${idsOf(rows)})
  `.execute(db);
}

/** Said twice, because SQLite would otherwise walk through the whole table and look for each row in the news. */
function idsOf(rows: readonly { readonly id: string }[]): RawBuilder<unknown> {
  return sql.join(rows.map(({ id }) => id));
}

function text(value: string | null): RawBuilder<unknown> {
  return sql`cast(${value} as text)`;
}

function whole(value: number | null): RawBuilder<unknown> {
  return sql`cast(${value} as bigint)`;
}
