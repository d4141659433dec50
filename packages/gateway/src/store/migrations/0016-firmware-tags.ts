import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** The tags of the devices that an image is offered to. Older images are offered to all. */
export async function addFirmwareTags(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { text } = columnTypes(kind);
  await tx.schema
    .alterTable("tendon_firmware")
    .addColumn("tags", text, (column) => column.notNull().defaultTo("[]"))
    .execute();
}
