import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../engine.ts";

/** The column types of the two databases. */
export interface ColumnTypes {
  /** Texts that are compared and sorted by their bytes, regardless of the server's locale. */
  readonly key: "text" | RawBuilder<unknown>;
  readonly text: "text";
  /** Milliseconds and counts. */
  readonly whole: "bigint";
  readonly flag: "integer";
}

export function columnTypes(kind: Engine["kind"]): ColumnTypes {
  const key = kind === "sqlite" ? "text" : sql`text collate "C"`;
  return { key, text: "text", whole: "bigint", flag: "integer" };
}
