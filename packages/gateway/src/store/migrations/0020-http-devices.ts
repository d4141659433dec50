import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { columnTypes } from "./column-types.ts";

/** MCP servers over HTTP that are devices, and which node holds each. Those of the configuration have no address here. */
export async function createHttpDevices(tx: Transaction<Tables>, kind: Engine["kind"]): Promise<void> {
  const { key, text, whole } = columnTypes(kind);
  await tx.schema
    .createTable("tendon_http_devices")
    .addColumn("id", key, (column) => column.primaryKey().notNull())
    .addColumn("url", text)
    .addColumn("headers", text)
    .addColumn("timeout_ms", whole)
    .addColumn("created_at", whole, (column) => column.notNull())
    .addColumn("created_by", text, (column) => column.notNull())
    .addColumn("owner", text)
    .addColumn("epoch", whole, (column) => column.notNull())
    .addColumn("problem", text)
    .execute();
}
