import type { Tool } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, print, printJson } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ToolsOptions extends TargetOptions {
  readonly user?: boolean;
  readonly json?: boolean;
}

export async function tools(device: string, options: ToolsOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const list = await client.devices.tools(device, { user: options.user });
  if (options.json === true) {
    printJson(list);
    return;
  }
  for (const tool of list.tools) printTool(tool);
  for (const aside of list.setAside ?? [])
    complain(`not offered: ${plain(aside.name)}: ${plain(aside.reason)}`);
  if (list.problem !== undefined) complain(`the tool list is incomplete: ${plain(list.problem)}`);
  if (list.tools.length === 0) print("This device offers no tools.");
}

function printTool(tool: Tool): void {
  const mark = tool.audience === "user" ? colours.yellow(" (user-only)") : "";
  print(`${colours.bold(plain(tool.name))}${mark}`);
  for (const [name, schema] of Object.entries(propertiesOf(tool))) {
    print(`    ${plain(name)}  ${colours.dim(describe(schema, requiredOf(tool).includes(name)))}`);
  }
  const [first = ""] = tool.description.split("\n");
  if (first !== "") print(`    ${colours.dim(plain(first))}`);
}

type Property = { type?: unknown; minimum?: unknown; maximum?: unknown; default?: unknown };

export function propertiesOf(tool: Tool): Record<string, Property> {
  const properties = tool.inputSchema["properties"];
  return typeof properties === "object" && properties !== null
    ? (properties as Record<string, Property>)
    : {};
}

function requiredOf(tool: Tool): unknown[] {
  return Array.isArray(tool.inputSchema["required"]) ? tool.inputSchema["required"] : [];
}

function describe(property: Property, required: boolean): string {
  const parts = [String(property.type ?? "any")];
  if (property.minimum !== undefined || property.maximum !== undefined) {
    parts.push(`${property.minimum ?? ""} to ${property.maximum ?? ""}`);
  }
  if (property.default !== undefined) parts.push(`default ${plain(JSON.stringify(property.default))}`);
  if (!required && property.default === undefined) parts.push("optional");
  return parts.join(", ");
}
