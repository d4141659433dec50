import { withoutExpressions } from "../json-schema/published.ts";
import { limits } from "../limits.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import { readWarnings } from "./annotations.ts";
import { cleanLine, cleanText, hasInvisible } from "./clean-text.ts";
import type { ObjectSchema, ToolDefinition, ToolSetAside } from "./definition.ts";
import { repairSchema } from "./schema-repair.ts";

export type RepairedTool =
  | { readonly ok: true; readonly tool: ToolDefinition }
  | { readonly ok: false; readonly setAside: ToolSetAside };

// The firmware would return a name with these characters unescaped in its errors.
const unusableInName = /["\\]/;

/** [MCP-8] Repairs one entry of a device's `tools/list`, or sets it aside with the reason. */
export function repairTool(raw: unknown, userOnlyByList: boolean): RepairedTool {
  if (!isObject(raw)) return setAside("(no name)", "it is not an object");
  const { name } = raw;
  if (typeof name !== "string" || name.length === 0) return setAside("(no name)", "it has no name");
  if (name.length > limits.toolNameLength.max) {
    return setAside(name, `its name is longer than ${limits.toolNameLength.max}`);
  }
  // Two names must not look the same, and none may confuse a terminal.
  if (unusableInName.test(name) || hasInvisible(name))
    return setAside(name, "its name has quotes, backslashes, control or invisible characters");
  const input = repairSchema(raw["inputSchema"]);
  if (!input.ok) return setAside(name, input.reason);
  const repairs = [...input.repairs];
  const output = repairOutput(raw, repairs);
  const warnings = readWarnings(raw["annotations"]);
  return {
    ok: true,
    tool: {
      name,
      description: repairDescription(raw["description"], repairs),
      inputSchema: input.schema,
      ...(output === undefined ? {} : { outputSchema: output }),
      audience: userOnlyByList || isForUsers(raw) ? "user" : "agent",
      repairs,
      ...(warnings.length === 0 ? {} : { warnings }),
    },
  };
}

function setAside(name: string, reason: string): RepairedTool {
  const { max } = limits.toolNameLength;
  return { ok: false, setAside: { name: cleanLine(name.slice(0, max), max), reason } };
}

function repairDescription(description: unknown, repairs: string[]): string {
  if (description === undefined) return "";
  if (typeof description !== "string") {
    repairs.push("the description was not text");
    return "";
  }
  if (hasInvisible(description.replaceAll(/[\n\r\t]/g, "")))
    repairs.push("the description had invisible characters");
  if (description.length > limits.toolDescriptionLength.max)
    repairs.push(`the description was cut at ${limits.toolDescriptionLength.max} characters`);
  return cleanText(description, limits.toolDescriptionLength.max);
}

function repairOutput(raw: JsonObject, repairs: string[]): ObjectSchema | undefined {
  // An invented output schema would oblige the device to return structured content.
  if (raw["outputSchema"] === undefined || raw["outputSchema"] === null) return undefined;
  const output = repairSchema(raw["outputSchema"]);
  if (output.ok) {
    repairs.push(...output.repairs.map((repair) => `in the output schema: ${repair}`));
    const plain = withoutExpressions(output.schema);
    // Agents validate answers with validators that run the expressions.
    if (plain !== output.schema) repairs.push("in the output schema: regular expressions dropped");
    return plain;
  }
  repairs.push(`the output schema was dropped: ${output.reason}`);
  return undefined;
}

/** [MCP-6] `annotations.audience` without "assistant" means user-only. */
export function isForUsers(raw: unknown): boolean {
  const annotations = isObject(raw) ? raw["annotations"] : undefined;
  if (!isObject(annotations) || !Array.isArray(annotations["audience"])) return false;
  return annotations["audience"].includes("user") && !annotations["audience"].includes("assistant");
}
