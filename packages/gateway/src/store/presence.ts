/** When devices and tokens were last active. Updates are frequent, so they are merged and written in batches. */
import { type RawBuilder, sql } from "kysely";
import type { Buffers } from "./buffers.ts";
import { BulkStatement, repeated } from "./bulk-statement.ts";
import { bindable } from "./codec.ts";
import type { Engine } from "./engine.ts";
import type { WriteBuffer } from "./write-buffer.ts";

interface DeviceActivity {
  readonly id: string;
  readonly seenAt: number;
  readonly transport: string | undefined;
  readonly left: { readonly at: number; readonly reason: string } | undefined;
}

interface TokenUse {
  readonly id: string;
  readonly usedAt: number;
  readonly from: string | undefined;
}

/** Devices connect rarely; tokens are used all the time. */
const deviceDelayMs = 50;
const tokenDelayMs = 1_000;
/** More devices than one node can serve. Beyond it, the oldest updates are dropped. */
const maxRows = 200_000;
const maxBytes = 64 * 1024 * 1024;
const rowBytes = 200;

export class Presence {
  readonly #devices: WriteBuffer<DeviceActivity>;
  readonly #tokens: WriteBuffer<TokenUse>;

  constructor(engine: Engine, buffers: Buffers) {
    const shared = { maxRows, maxBytes };
    const [devices, tokens] = [deviceUpdate(), tokenUpdate()];
    this.#devices = buffers.make<DeviceActivity>({
      ...shared,
      what: "last seen of devices",
      delayMs: deviceDelayMs,
      bytesOf: ({ left }) => rowBytes + (left?.reason.length ?? 0) * 2,
      merge: (old, newer) => ({
        ...newer,
        transport: newer.transport ?? old.transport,
        left: newer.left ?? old.left,
      }),
      write: async (rows) => await engine.relaxed(async (db) => await devices.run(db, rows)),
    });
    this.#tokens = buffers.make<TokenUse>({
      ...shared,
      what: "last use of tokens",
      delayMs: tokenDelayMs,
      bytesOf: () => rowBytes,
      merge: (old, newer) => ({ ...newer, from: newer.from ?? old.from }),
      write: async (rows) => await engine.relaxed(async (db) => await tokens.run(db, rows)),
    });
  }

  deviceSeen(id: string, at: number, transport?: string): void {
    this.#devices.push({ id, seenAt: at, transport, left: undefined }, id);
  }

  deviceLeft(id: string, seenAt: number, at: number, reason: string): void {
    this.#devices.push({ id, seenAt, transport: undefined, left: { at, reason } }, id);
  }

  tokenUsed(id: string, at: number, from?: string): void {
    this.#tokens.push({ id, usedAt: at, from }, id);
  }
}

/** Both databases name the columns of VALUES column1, column2, …; PostgreSQL needs explicit types. */
function deviceUpdate(): BulkStatement<DeviceActivity> {
  return new BulkStatement({
    write: (db, rows) => {
      const values = repeated(rows, sql`(${text}, ${whole}, ${text}, ${whole}, ${text})`);
      return sql`
        update tendon_devices set
          last_seen_at = activity.column2,
          transport = coalesce(activity.column3, tendon_devices.transport),
          last_disconnect_at = coalesce(activity.column4, tendon_devices.last_disconnect_at),
          last_disconnect_reason = coalesce(activity.column5, tendon_devices.last_disconnect_reason)
        from (values ${sql.join(values)}) as activity
        where tendon_devices.id = activity.column1 and tendon_devices.id in (${idsOf(rows)})
      `.compile(db);
    },
    bind: ({ id, seenAt, transport, left }, into) =>
      into.push(
        id,
        bindable(seenAt),
        transport ?? null,
        bindable(left?.at ?? null),
        bindable(left?.reason ?? null),
      ),
    bindAgain: ({ id }, into) => into.push(id),
  });
}

function tokenUpdate(): BulkStatement<TokenUse> {
  return new BulkStatement({
    write: (db, rows) => {
      const values = repeated(rows, sql`(${text}, ${whole}, ${text})`);
      return sql`
        update tendon_tokens set
          last_used_at = activity.column2,
          last_used_from = coalesce(activity.column3, tendon_tokens.last_used_from)
        from (values ${sql.join(values)}) as activity
        where tendon_tokens.id = activity.column1 and tendon_tokens.id in (${idsOf(rows)})
      `.compile(db);
    },
    bind: ({ id, usedAt, from }, into) => into.push(id, bindable(usedAt), bindable(from ?? null)),
    bindAgain: ({ id }, into) => into.push(id),
  });
}

/** Repeats the ids, because SQLite would otherwise scan the whole table. */
function idsOf(rows: number): RawBuilder<unknown> {
  return sql.join(repeated(rows, ""));
}

const text = sql`cast(${null} as text)`;
const whole = sql`cast(${null} as bigint)`;
