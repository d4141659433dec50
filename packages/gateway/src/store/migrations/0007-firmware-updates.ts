import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** More metadata of images, and the progress of each device. */
export async function createFirmwareUpdates(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole, flag } = columnTypes(kind);
  const { schema } = tx;
  for (const [name, type, initial] of [
    ["chip", text, ""],
    ["project", text, ""],
    ["forced", flag, 0],
  ] as const) {
    await schema
      .alterTable("tendon_firmware")
      .addColumn(name, type, (column) => column.notNull().defaultTo(initial))
      .execute();
  }
  await schema.alterTable("tendon_firmware").addColumn("halted_reason", text).execute();
  await schema
    .createTable("tendon_firmware_updates")
    .addColumn("image", key, (column) => column.notNull())
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("state", key, (column) => column.notNull())
    .addColumn("offers", whole, (column) => column.notNull())
    .addColumn("due_at", whole)
    .addColumn("reason", text)
    .addColumn("changed_at", whole, (column) => column.notNull())
    .addPrimaryKeyConstraint("tendon_firmware_updates_key", ["image", "device"])
    .execute();
  const index = (name: string) => schema.createIndex(name).on("tendon_firmware_updates");
  await index("tendon_firmware_updates_device").column("device").execute();
  await index("tendon_firmware_updates_due").column("due_at").execute();
}
