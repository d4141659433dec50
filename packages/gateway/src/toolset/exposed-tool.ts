import {
  agentLimits,
  agentSchema,
  cleanText,
  inlineReferences,
  type JsonObject,
  type ToolAnnotations,
  type ToolDefinition,
  toolAnnotations,
  toolTitle,
} from "@tendon/protocol";
import type { Access } from "../access/access.ts";

/** Under this key of `_meta` a tool says where it comes from [AGT-10]. */
const metaKey = "tendon/tool";

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

interface ToolOwner {
  readonly id: string;
  readonly alias: string;
  readonly board: string | undefined;
}

interface GivenNames {
  readonly name: string;
  readonly bareName: string;
}

/** What is the same for every device with this tool; boards of one kind list the same definitions. */
interface Shape {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: ToolAnnotations;
}

const shapes = new WeakMap<ToolDefinition, Shape>();

export function exposedTool(owner: ToolOwner, tool: ToolDefinition, names: GivenNames): ExposedTool {
  const { title, ...shape } = shapeOf(tool);
  return {
    ...names,
    ...shape,
    device: owner.id,
    alias: owner.alias,
    tool: tool.name,
    title: `${owner.alias}: ${title}`,
    meta: {
      [metaKey]: {
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

function shapeOf(tool: ToolDefinition): Shape {
  const known = shapes.get(tool);
  if (known !== undefined) return known;
  const shape = {
    title: toolTitle(tool.name),
    description: cleanText(tool.description, agentLimits.descriptionLength.max),
    inputSchema: agentSchema(tool.inputSchema),
    ...(tool.outputSchema === undefined ? {} : { outputSchema: inlineReferences(tool.outputSchema) }),
    annotations: toolAnnotations(tool),
  };
  shapes.set(tool, shape);
  return shape;
}
