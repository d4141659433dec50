import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../engine.ts";

/** What the two databases call the same thing. */
export interface ColumnTypes {
  /** Texts that are compared and sorted: by their bytes on both, whatever language the server was set up for. */
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
