import type { ToolDefinition } from "@tendon/protocol";
import { fromJson, identifier, toJson } from "./codec.ts";
import { atomically, type Database } from "./engine.ts";

export interface StoredPin {
  readonly device: string;
  readonly tool: string;
  /** The tool as it was accepted. */
  readonly known: ToolDefinition;
  readonly notedAt: number;
}

/** Tools that differ from what was accepted. A tool without a row is accepted as its device lists it. */
export class ToolPins {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async all(): Promise<StoredPin[]> {
    const rows = await this.#db
      .selectFrom("tendon_tool_pins")
      .selectAll()
      .orderBy("noted_at")
      .orderBy("device")
      .orderBy("tool")
      .execute();
    return rows.map(readPin);
  }

  async ofDevice(device: string): Promise<StoredPin[]> {
    const rows = await this.#db
      .selectFrom("tendon_tool_pins")
      .selectAll()
      .where("device", "=", device)
      .orderBy("noted_at")
      .orderBy("tool")
      .execute();
    return rows.map(readPin);
  }

  /** Replaces all pins of a device. */
  async save(device: string, pins: readonly Omit<StoredPin, "device">[]): Promise<void> {
    const rows = pins.map(({ tool, known, notedAt }) => ({
      device: identifier(device, "the device's id"),
      tool: identifier(tool, "the tool's name"),
      known: toJson(known),
      noted_at: notedAt,
    }));
    await atomically(this.#db, async (tx) => {
      await tx.deleteFrom("tendon_tool_pins").where("device", "=", device).execute();
      for (let from = 0; from < rows.length; from += 100) {
        await tx
          .insertInto("tendon_tool_pins")
          .values(rows.slice(from, from + 100))
          .execute();
      }
    });
  }
}

function readPin(row: { device: string; tool: string; known: string; noted_at: number }): StoredPin {
  const { device, tool, known, noted_at: notedAt } = row;
  return { device, tool, known: fromJson<ToolDefinition>(known), notedAt };
}
