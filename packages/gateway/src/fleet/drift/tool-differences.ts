import { hash } from "node:crypto";
import { cleanText, limits, type ToolDefinition } from "@tendon/protocol";

export type ToolPart = "description" | "inputSchema" | "outputSchema" | "audience";

const parts: readonly ToolPart[] = ["description", "inputSchema", "outputSchema", "audience"];

/** The parts in which two tools of the same name differ. The order of keys and hidden characters do not count. */
export function differences(one: ToolDefinition, other: ToolDefinition): ToolPart[] {
  if (one === other) return [];
  return parts.filter((part) => partOf(one, part) !== partOf(other, part));
}

/** Identifies the definition that an operator accepts. Tools without differences have the same digest. */
export function digestOf(tool: ToolDefinition): string {
  return hash("sha256", parts.map((part) => partOf(tool, part)).join("\n")).slice(0, 16);
}

function partOf(tool: ToolDefinition, part: ToolPart): string {
  if (part === "description") return cleanText(tool.description, limits.toolDescriptionLength.max);
  return JSON.stringify(tool[part], sorted) ?? "";
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
