import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** The accepted definitions of tools whose device now lists another one. */
export async function createToolPins(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_tool_pins")
    .addColumn("device", key, (column) => column.notNull())
    .addColumn("tool", key, (column) => column.notNull())
    .addColumn("known", text, (column) => column.notNull())
    .addColumn("noted_at", whole, (column) => column.notNull())
    .addPrimaryKeyConstraint("tendon_tool_pins_key", ["device", "tool"])
    .execute();
}
