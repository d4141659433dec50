import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** What a voice agent says about the board that asked for a call. Calls of other clients and older ones have none. */
export async function addCallAskers(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { text } = columnTypes(kind);
  await tx.schema.alterTable("tendon_calls").addColumn("asker", text).execute();
}
