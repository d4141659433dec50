import readline from "node:readline";
import { UsageError } from "../errors.ts";
import { McpBridge } from "../mcp-bridge/mcp-bridge.ts";
import type { TargetOptions } from "../target.ts";

export interface McpOptions extends TargetOptions {
  readonly flat?: boolean;
  readonly compact?: boolean;
  readonly device?: string;
}

/** Runs until the client closes stdin. Only protocol messages go to stdout. */
export async function mcp(options: McpOptions): Promise<void> {
  const bridge = new McpBridge({ ...options, path: pathOf(options) }, (message) => {
    process.stdout.write(`${JSON.stringify(message)}\n`);
  });
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on("line", (line) => {
    if (line.trim() !== "") bridge.receive(line);
  });
  // The client ended and no longer reads. That is not an error.
  process.stdout.on("error", () => lines.close());
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => lines.close());
  await new Promise<void>((resolve) => lines.once("close", resolve));
  bridge.close();
}

function pathOf({ flat, compact, device }: McpOptions): string {
  if ([flat, compact, device].filter((given) => given !== undefined).length > 1) {
    throw new UsageError("Use only one of --flat, --compact and --device.");
  }
  if (device !== undefined) return `/mcp/devices/${encodeURIComponent(device)}`;
  return flat === true ? "/mcp/flat" : compact === true ? "/mcp/compact" : "/mcp";
}
