import { limits } from "../limits.ts";
import { isObject, type JsonObject } from "../outcome.ts";
import type { ObjectSchema, ToolDefinition, ToolSetAside } from "./definition.ts";
import { repairSchema } from "./schema-repair.ts";

export type RepairedTool =
  | { readonly ok: true; readonly tool: ToolDefinition }
  | { readonly ok: false; readonly setAside: ToolSetAside };

// A name with these would come back unescaped in the firmware's errors, or confuse a terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unusableInName = /["\\\u0000-\u001f\u007f]/;

/** [MCP-8] One entry of a device's `tools/list`, mended where it can be, set aside with the reason where not. */
export function repairTool(raw: unknown, userOnlyByList: boolean): RepairedTool {
  if (!isObject(raw)) return setAside("(no name)", "it is not an object");
  const { name } = raw;
  if (typeof name !== "string" || name.length === 0) return setAside("(no name)", "it has no name");
  if (name.length > limits.toolNameLength.max) {
    return setAside(
      name.slice(0, limits.toolNameLength.max),
      `its name is longer than ${limits.toolNameLength.max}`,
    );
  }
  if (unusableInName.test(name))
    return setAside(name, "its name has quotes, backslashes or control characters");
  const input = repairSchema(raw["inputSchema"]);
  if (!input.ok) return setAside(name, input.reason);
  const repairs = [...input.repairs];
  const output = repairOutput(raw, repairs);
  return {
    ok: true,
    tool: {
      name,
      description: repairDescription(raw["description"], repairs),
      inputSchema: input.schema,
      ...(output === undefined ? {} : { outputSchema: output }),
      audience: userOnlyByList || isForUsers(raw) ? "user" : "agent",
      repairs,
    },
  };
}

function setAside(name: string, reason: string): RepairedTool {
  return { ok: false, setAside: { name, reason } };
}

function repairDescription(description: unknown, repairs: string[]): string {
  if (description === undefined) return "";
  if (typeof description !== "string") {
    repairs.push("the description was not text");
    return "";
  }
  if (description.length <= limits.toolDescriptionLength.max) return description;
  repairs.push(`the description was cut at ${limits.toolDescriptionLength.max} characters`);
  return description.slice(0, limits.toolDescriptionLength.max);
}

function repairOutput(raw: JsonObject, repairs: string[]): ObjectSchema | undefined {
  // A made-up output schema would oblige the device to give structured answers.
  if (raw["outputSchema"] === undefined || raw["outputSchema"] === null) return undefined;
  const output = repairSchema(raw["outputSchema"]);
  if (output.ok) {
    repairs.push(...output.repairs.map((repair) => `in the output schema: ${repair}`));
    return output.schema;
  }
  repairs.push(`the output schema was dropped: ${output.reason}`);
  return undefined;
}

/** [MCP-6] `annotations.audience` without "assistant" means people only. */
function isForUsers(raw: JsonObject): boolean {
  const annotations = raw["annotations"];
  if (!isObject(annotations) || !Array.isArray(annotations["audience"])) return false;
  return annotations["audience"].includes("user") && !annotations["audience"].includes("assistant");
}
