import { flag, fromJson, identifier, optional, toJson } from "./codec.ts";
import type { Database } from "./engine.ts";
import type { FirmwareTable } from "./tables.ts";

type FirmwareState = "offered" | "halted";

export interface FirmwareImage {
  readonly id: string;
  readonly board: string;
  readonly version: string;
  /** The file name in the data folder. */
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
  readonly chip: string;
  readonly project: string;
  /** Offered also to devices that run a newer version. */
  readonly force: boolean;
  /** The percentage of devices that it is offered to. */
  readonly share: number;
  /** It is offered only to devices with one of these; to all if there are none. */
  readonly tags: readonly string[];
  readonly state: FirmwareState;
  readonly haltedReason: string | undefined;
  readonly addedAt: number;
}

/** Metadata of the images. Their contents are files (firmware-files.ts). */
export class FirmwareImages {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns false if the board already has an image of this version. */
  async add(image: FirmwareImage): Promise<boolean> {
    const row: FirmwareTable = {
      id: identifier(image.id, "the image's id"),
      board: identifier(image.board, "the board"),
      version: identifier(image.version, "the version"),
      file: image.file,
      size: image.size,
      sha256: image.sha256,
      share: image.share,
      state: image.state,
      added_at: image.addedAt,
      chip: image.chip,
      project: image.project,
      forced: flag(image.force),
      halted_reason: image.haltedReason ?? null,
      tags: toJson(image.tags),
    };
    const made = await this.#db
      .insertInto("tendon_firmware")
      .values(row)
      .onConflict((conflict) => conflict.columns(["board", "version"]).doNothing())
      .returning("id")
      .executeTakeFirst();
    return made !== undefined;
  }

  /** Newest first. */
  async all(): Promise<FirmwareImage[]> {
    const rows = await this.#db
      .selectFrom("tendon_firmware")
      .selectAll()
      .orderBy("added_at", "desc")
      .orderBy("id")
      .execute();
    return rows.map(read);
  }

  async get(id: string): Promise<FirmwareImage | undefined> {
    const row = await this.#db
      .selectFrom("tendon_firmware")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : read(row);
  }

  /** Returns true only for the caller that halted it. */
  async halt(id: string, reason: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_firmware")
      .set({ state: "halted", halted_reason: reason })
      .where("id", "=", id)
      .where("state", "=", "offered")
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async change(
    id: string,
    changes: Partial<Pick<FirmwareImage, "share" | "state" | "tags">>,
  ): Promise<boolean> {
    const set = {
      ...(changes.share === undefined ? {} : { share: changes.share }),
      ...(changes.tags === undefined ? {} : { tags: toJson(changes.tags) }),
      ...(changes.state === undefined ? {} : { state: changes.state }),
      ...(changes.state === "offered" ? { halted_reason: null } : {}),
    };
    if (Object.keys(set).length === 0) return false;
    const { numUpdatedRows } = await this.#db
      .updateTable("tendon_firmware")
      .set(set)
      .where("id", "=", id)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  async remove(id: string): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom("tendon_firmware")
      .where("id", "=", id)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }
}

function read(row: FirmwareTable): FirmwareImage {
  return {
    id: row.id,
    board: row.board,
    version: row.version,
    file: row.file,
    size: row.size,
    sha256: row.sha256,
    share: row.share,
    // Safe: only `add` and `change` fill this column.
    state: row.state as FirmwareState,
    addedAt: row.added_at,
    chip: row.chip,
    project: row.project,
    force: row.forced === 1,
    haltedReason: optional(row.halted_reason),
    tags: fromJson<string[]>(row.tags),
  };
}
