import type { Clock } from "../clock.ts";
import { identifier } from "./codec.ts";
import { atomically, type Database, pagesOf } from "./engine.ts";

export interface ExposedName {
  readonly name: string;
  readonly device: string;
  readonly tool: string;
}

const claimRows = 500;

/** The tool names that agents see. A name belongs to its device for as long as the device exists. */
export class ExposedNames {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Stores the names. Returns those that already belong to another tool, with that tool. */
  async claim(names: readonly ExposedName[]): Promise<ExposedName[]> {
    if (names.length === 0) return [];
    const given_at = this.#clock.now();
    const rows = names.map(({ name, device, tool }) => ({
      name: identifier(name, "the exposed name"),
      device: identifier(device, "the device's id"),
      tool: identifier(tool, "the tool's name"),
      given_at,
    }));
    const taken: ExposedName[] = [];
    await atomically(this.#db, async (tx) => {
      for (let from = 0; from < rows.length; from += claimRows) {
        const part = rows.slice(from, from + claimRows);
        await tx
          .insertInto("tendon_names")
          .values(part)
          .onConflict((conflict) => conflict.column("name").doNothing())
          .execute();
        const held = await tx
          .selectFrom("tendon_names")
          .select(["name", "device", "tool"])
          .where(
            "name",
            "in",
            part.map(({ name }) => name),
          )
          .execute();
        const holders = new Map(held.map((row) => [row.name, row]));
        for (const { name, device, tool } of part) {
          const holder = holders.get(name);
          if (holder !== undefined && (holder.device !== device || holder.tool !== tool)) taken.push(holder);
        }
      }
    });
    return taken;
  }

  async remove(names: readonly string[]): Promise<void> {
    for (let from = 0; from < names.length; from += claimRows)
      await this.#db
        .deleteFrom("tendon_names")
        .where("name", "in", names.slice(from, from + claimRows))
        .execute();
  }

  async ofDevice(device: string): Promise<ExposedName[]> {
    return await this.#db
      .selectFrom("tendon_names")
      .select(["name", "device", "tool"])
      .where("device", "=", device)
      .orderBy("name")
      .execute();
  }

  /** All names, one page at a time. */
  pages(): AsyncGenerator<readonly ExposedName[]> {
    const select = this.#db.selectFrom("tendon_names").select(["name", "device", "tool"]).orderBy("name");
    return pagesOf(
      (after, limit) => select.where("name", ">", after).limit(limit).execute(),
      ({ name }) => name,
    );
  }
}
