import { bareToolName, type JsonObject, type ToolDefinition } from "@tendon/protocol";
import type { Access } from "../access.ts";

/** A device's tool as agents see it. What the device itself says is data here: none of it decides anything. */
export interface ExposedTool {
  /** Unique over the fleet: `{alias}__{tool}` [AGT-1]. */
  readonly name: string;
  /** The name where only this device is shown, without the prefix; unique on the device. */
  readonly bareName: string;
  /** The device's id. */
  readonly device: string;
  readonly alias: string;
  /** The device's own name for it. */
  readonly tool: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: ToolAnnotations;
  /** Where it comes from, for a result's or a tool's `_meta`. */
  readonly meta: JsonObject;
  readonly audience: "agent" | "user";
  readonly access: Access;
}

interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

interface ToolOwner {
  readonly id: string;
  readonly alias: string;
  readonly board: string | undefined;
}

interface GivenNames {
  readonly name: string;
  readonly bareName: string;
}

export function exposedTool(owner: ToolOwner, tool: ToolDefinition, names: GivenNames): ExposedTool {
  return {
    ...names,
    device: owner.id,
    alias: owner.alias,
    tool: tool.name,
    title: `${owner.alias}: ${bareToolName(tool.name).replaceAll("_", " ")}`,
    description: tool.description,
    inputSchema: tool.inputSchema,
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    meta: {
      "tendon/tool": {
        device: owner.id,
        alias: owner.alias,
        tool: tool.name,
        board: owner.board ?? null,
        audience: tool.audience,
      },
    },
    audience: tool.audience,
    access: "allowed",
  };
}
