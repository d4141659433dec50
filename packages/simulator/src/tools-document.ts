/** Reads tools files in YAML and JSON, whose tools boards and homes offer. */
import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { ToolDefinitionError, ToolsFileError } from "./errors.ts";
import { readDocument, type ToolEntry, type ToolsDocument } from "./tools-format.ts";

export async function readToolsDocument(path: string): Promise<ToolsDocument> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => refuse(path, cause));
  return readDocument(path, await parse(path, text));
}

/** Calls `add` with each tool. A ToolDefinitionError becomes a ToolsFileError with the place in the file. */
export function addEach(path: string, tools: readonly ToolEntry[], add: (tool: ToolEntry) => void): void {
  for (const [index, tool] of tools.entries()) {
    try {
      add(tool);
    } catch (error) {
      if (!(error instanceof ToolDefinitionError)) throw error;
      const place = `${path}: tools[${index}] (${tool.name})`;
      throw new ToolsFileError(inPlace(place, tool.name, error.message), { cause: error });
    }
  }
}

/** `tool NAME, property KEY: …` with the place in the file instead. */
function inPlace(place: string, name: string, message: string): string {
  const inTool = `tool ${name}, property `;
  if (message.startsWith(inTool)) return `${place}: properties.${message.slice(inTool.length)}`;
  const { length } = `tool ${name}: `;
  return `${place}: ${message.slice(length)}`;
}

async function parse(path: string, text: string): Promise<unknown> {
  try {
    const json = extname(path).toLowerCase() === ".json";
    // Parsed for its error messages only: objects lose the order of numeric names, which a Map keeps.
    if (json) JSON.parse(text);
    const yaml = await import("yaml");
    const ordered = { mapAsMap: true, stringKeys: true } as const;
    return yaml.parse(text, json ? { ...ordered, schema: "json", uniqueKeys: false } : ordered);
  } catch (cause) {
    return refuse(path, cause);
  }
}

export function refuse(path: string, cause: unknown): never {
  throw new ToolsFileError(`${path}: ${reason(path, cause)}`, { cause });
}

function reason(path: string, cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (!existsSync(path)) return "there is no such file; check the path";
  if (statSync(path).isDirectory()) return "is a folder; give a file";
  // The YAML parser adds the lines around the mistake.
  const [first = ""] = cause.message.split("\n");
  return first.replace(/:$/, "");
}
