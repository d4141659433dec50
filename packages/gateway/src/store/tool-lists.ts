import { createHash } from "node:crypto";
import type { ToolDefinition, ToolSetAside } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { flag, fromJson, identifier, optional, toJson } from "./codec.ts";
import { atomically, type Database, pagesOf } from "./engine.ts";

export interface ToolListContent {
  readonly tools: readonly ToolDefinition[];
  readonly setAside: readonly ToolSetAside[];
  /** Only stored if it is true. */
  readonly truncated?: boolean;
}

export interface ToolList extends ToolListContent {
  readonly truncated: boolean;
  readonly complete: boolean;
  readonly problem: string | undefined;
}

export interface StoredToolList extends ToolList {
  readonly digest: string;
  readonly listedAt: number;
}

const unusedForMs = 24 * 60 * 60_000;

/**
 * The tools that each device last listed. Devices with the same firmware list the same tools, so each content is
 * stored once, under its digest; `all` shares one object too.
 */
export class ToolLists {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async save(device: string, list: ToolList): Promise<string> {
    const { content, digest } = contentOf(list);
    const now = this.#clock.now();
    const rest = { digest, complete: flag(list.complete), problem: list.problem ?? null, listed_at: now };
    await atomically(this.#db, async (tx) => {
      const before = await tx
        .selectFrom("tendon_tool_lists as list")
        .innerJoin("tendon_tool_contents as content", "content.digest", "list.digest")
        .select(["list.digest", "content.used_at"])
        .where("list.device", "=", device)
        .executeTakeFirst();
      // Updated even if it exists, so that `pruneUnused` does not delete it meanwhile.
      await tx
        .insertInto("tendon_tool_contents")
        .values({ digest, content, used_at: now })
        .onConflict((conflict) => conflict.column("digest").doUpdateSet({ used_at: now }))
        .execute();
      await tx
        .insertInto("tendon_tool_lists")
        .values({ device: identifier(device, "the device's id"), ...rest })
        .onConflict((conflict) => conflict.column("device").doUpdateSet(rest))
        .execute();
      if (before !== undefined && before.digest !== digest) await removeUnused(tx, before);
    });
    return digest;
  }

  async get(device: string): Promise<StoredToolList | undefined> {
    const row = await this.#db
      .selectFrom("tendon_tool_lists as list")
      .innerJoin("tendon_tool_contents as content", "content.digest", "list.digest")
      .select(["list.digest", "list.complete", "list.problem", "list.listed_at", "content.content"])
      .where("list.device", "=", device)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row, fromJson<ToolListContent>(row.content));
  }

  /** device -> list; equal contents are one object. */
  async all(): Promise<Map<string, StoredToolList>> {
    const contents = await this.#contents();
    const lists = new Map<string, StoredToolList>();
    const select = this.#db.selectFrom("tendon_tool_lists").selectAll().orderBy("device");
    const pages = pagesOf(
      (after, limit) => select.where("device", ">", after).limit(limit).execute(),
      ({ device }) => device,
    );
    for await (const rows of pages) {
      for (const row of rows) {
        const content = contents.get(row.digest);
        if (content !== undefined) lists.set(row.device, read(row, content));
      }
    }
    return lists;
  }

  /** One step of retention. Returns the number of deleted contents. */
  async pruneUnused(limit: number): Promise<number> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_tool_contents")
      .where("digest", "in", (eb) =>
        eb
          .selectFrom("tendon_tool_contents as content")
          .leftJoin("tendon_tool_lists as list", "list.digest", "content.digest")
          .select("content.digest")
          .where("list.device", "is", null)
          .where("content.used_at", "<", this.#clock.now() - unusedForMs)
          .limit(limit),
      )
      // Checked again, because another node may have used the row meanwhile.
      .where("used_at", "<", this.#clock.now() - unusedForMs)
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async #contents(): Promise<Map<string, ToolListContent>> {
    const rows = await this.#db
      .selectFrom("tendon_tool_contents")
      .select(["digest", "content"])
      .where("digest", "in", (eb) => eb.selectFrom("tendon_tool_lists").select("digest"))
      .execute();
    return new Map(rows.map(({ digest, content }) => [digest, fromJson<ToolListContent>(content)]));
  }
}

interface WrittenContent {
  readonly list: ToolList;
  readonly content: string;
  readonly digest: string;
}

/** Devices with the same firmware share one list of tools, whose text is written once. */
const written = new WeakMap<object, WrittenContent>();

export function contentOf(list: ToolList): WrittenContent {
  const known = written.get(list.tools);
  if (known?.list.setAside === list.setAside && known.list.truncated === list.truncated) return known;
  const content = toJson({
    tools: list.tools,
    setAside: list.setAside,
    ...(list.truncated ? { truncated: true } : {}),
  } satisfies ToolListContent);
  const created = { list, content, digest: createHash("sha256").update(content).digest("hex") };
  written.set(list.tools, created);
  return created;
}

/** Removes a content that no device lists any more: a device whose list changes for ever must not fill the disk. */
export async function removeUnused(tx: Database, { digest, used_at }: { digest: string; used_at: number }) {
  await tx
    .deleteFrom("tendon_tool_contents")
    .where("digest", "=", digest)
    // Another node that begins to use it changes this first.
    .where("used_at", "=", used_at)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom("tendon_tool_lists").select("device").where("digest", "=", digest))),
    )
    .execute();
}

function read(
  row: { digest: string; complete: number; problem: string | null; listed_at: number },
  content: ToolListContent,
): StoredToolList {
  return {
    tools: content.tools,
    setAside: content.setAside,
    truncated: content.truncated === true,
    complete: row.complete === 1,
    problem: optional(row.problem),
    digest: row.digest,
    listedAt: row.listed_at,
  };
}
