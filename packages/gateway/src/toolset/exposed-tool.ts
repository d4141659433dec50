import {
  agentLimits,
  agentSchema,
  callerSchema,
  cleanText,
  inlineReferences,
  type JsonObject,
  type ToolAnnotations,
  type ToolDefinition,
  toolAnnotations,
  toolTitle,
} from "@tendon/protocol";
import type { Access } from "../access/access.ts";

/** The key of `_meta` with the origin of a tool [AGT-10]. */
const metaKey = "tendon/tool";

/** A device's tool as agents see it. Texts of the device are data and decide nothing. */
export interface ExposedTool {
  /** Unique in the fleet: `{alias}__{tool}` [AGT-1]. */
  readonly name: string;
  /** The name without the prefix, for views of one device; unique on the device. */
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
  /** The origin, for the `_meta` of a result or a tool. */
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

/** What all devices with this tool share; boards of one kind list the same definitions. */
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
    inputSchema: agentSchema(callerSchema(tool)),
    ...(tool.outputSchema === undefined ? {} : { outputSchema: inlineReferences(tool.outputSchema) }),
    annotations: toolAnnotations(tool),
  };
  shapes.set(tool, shape);
  return shape;
}
