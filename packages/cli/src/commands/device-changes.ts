import type { DeviceList, ToolChanges } from "@tendon/protocol";
import { OperationError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, plainLines, print, printJson } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ChangesOptions extends TargetOptions {
  readonly json?: boolean;
}

function at(device: string): string {
  return `/devices/${encodeURIComponent(device)}`;
}

/** What has changed of the tools of one device, or of all. */
export async function toolChanges(device: string | undefined, options: ChangesOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  if (device !== undefined && options.json === true) {
    printJson(await client.get<ToolChanges>(`${at(device)}/changes`));
    return;
  }
  const found: { device: string; changes: ToolChanges["changes"] }[] = [];
  for (const name of device === undefined ? await everyDevice(client) : [device]) {
    const { changes } = await client.get<ToolChanges>(`${at(name)}/changes`);
    if (changes.length > 0) found.push({ device: name, changes });
  }
  if (options.json === true) printJson({ devices: found });
  else if (found.length === 0) print("Every tool is what it was when it was first seen.");
  else for (const each of found) show(each.device, each.changes);
}

async function everyDevice(client: GatewayClient): Promise<string[]> {
  const names: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await client.get<DeviceList>(
      `/devices?limit=1000${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    names.push(...page.devices.map(({ alias }) => alias));
    if (page.nextCursor === undefined) return names;
    cursor = page.nextCursor;
  }
}

function show(device: string, changes: ToolChanges["changes"]): void {
  const now = Date.now();
  for (const { tool, what, since, quarantined, before, after } of changes) {
    const state = quarantined ? colours.yellow("kept shut") : "in use";
    print(`${colours.bold(device)} ${plain(tool)}: ${what.join(", ")}, ${ago(since, now)}, ${state}`);
    if (what.includes("description")) {
      print(`  ${colours.dim("was")} ${plainLines(before.description).replaceAll("\n", "\n      ")}`);
      print(`  ${colours.dim("is ")} ${plainLines(after.description).replaceAll("\n", "\n      ")}`);
    }
    if (what.includes("inputSchema")) {
      print(`  ${colours.dim("took ")} ${plain(JSON.stringify(before.inputSchema))}`);
      print(`  ${colours.dim("takes")} ${plain(JSON.stringify(after.inputSchema))}`);
    }
    if (what.includes("audience")) print(`  for ${before.audience}s, now for ${after.audience}s`);
    print(`  ${colours.dim("digest")} ${after.digest}`);
  }
}

/** Accepts a tool as it is now, or as it was when its digest was shown. */
export async function acceptTool(
  device: string,
  tool: string,
  options: ChangesOptions & { readonly digest?: string },
): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const digest = options.digest ?? (await digestOf(client, device, tool));
  await client.post(`${at(device)}/tools/${encodeURIComponent(tool)}/accept`, { digest });
  if (options.json === true) printJson({ device, tool, digest });
  else print(`${plain(tool)} of ${device} is accepted as it is`);
}

async function digestOf(client: GatewayClient, device: string, tool: string): Promise<string> {
  const { changes } = await client.get<ToolChanges>(`${at(device)}/changes`);
  const change = changes.find((each) => each.tool === tool);
  if (change === undefined) throw new OperationError(`${device} has no tool ${plain(tool)} that has changed`);
  return change.after.digest;
}
