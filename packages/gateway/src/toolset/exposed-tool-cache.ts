import type { ToolDefinition } from "@tendon/protocol";
import type { Access } from "../access/access.ts";
import type { DeviceRecord, Names } from "../fleet/fleet.ts";
import { type ExposedTool, exposedTool } from "./exposed-tool.ts";

interface Kept {
  readonly alias: string;
  readonly board: string | undefined;
  readonly definitions: readonly ToolDefinition[];
  readonly tools: readonly ExposedTool[];
}

/** The exposed tools of each device, computed again only when the device's tools, alias or board change. */
export class ExposedToolCache {
  readonly #names: Names;
  readonly #kept = new Map<string, Kept>();
  readonly #confirmed = new WeakMap<ExposedTool, ExposedTool>();

  constructor(names: Names) {
    this.#names = names;
  }

  of(record: DeviceRecord): readonly ExposedTool[] {
    const { id, alias, board } = record;
    const definitions = record.catalogue.tools();
    const kept = this.#kept.get(id);
    const isSame =
      kept?.alias === alias &&
      kept.board === board &&
      kept.definitions.length === definitions.length &&
      definitions.every((tool, index) => tool === kept.definitions[index]);
    if (isSame) return kept.tools;
    const before = new Map(
      kept?.alias === alias && kept.board === board
        ? kept.tools.map((tool, index) => [kept.definitions[index], tool])
        : [],
    );
    const tools = definitions.map((tool) => before.get(tool) ?? this.#make(record, tool));
    this.#kept.set(id, { alias, board, definitions, tools });
    return tools;
  }

  forget(device: string): void {
    this.#kept.delete(device);
  }

  /** The same tool with the access of a principal. */
  withAccess(tool: ExposedTool, access: Access): ExposedTool {
    if (access !== "confirm") return tool;
    const known = this.#confirmed.get(tool);
    if (known !== undefined) return known;
    const confirmed: ExposedTool = { ...tool, access };
    this.#confirmed.set(tool, confirmed);
    return confirmed;
  }

  #make(record: DeviceRecord, tool: ToolDefinition): ExposedTool {
    return exposedTool(record, tool, {
      name: record.exposedName(tool.name),
      bareName: this.#names.bare(record.id, tool.name),
    });
  }
}
