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

/** Shows the changed tools of one device, or of all devices. */
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
  else if (found.length === 0) print("No tool has changed since it was first accepted.");
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
    const state = quarantined ? colours.yellow("quarantined") : "in use";
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

interface AcceptOptions extends ChangesOptions {
  readonly digest?: string;
  readonly all?: boolean;
}

/** Accepts the current version of a tool, of all changed tools of a device, or of all devices. */
export async function acceptTools(
  device: string | undefined,
  tool: string | undefined,
  options: AcceptOptions,
): Promise<void> {
  if ((device === undefined) !== (options.all === true))
    throw new OperationError("name a device, or accept the changes of all devices with --all");
  if (options.digest !== undefined && tool === undefined)
    throw new OperationError("--digest needs the name of the tool");
  const client = new GatewayClient(readTarget(options));
  const accepted: { device: string; tool: string; digest: string }[] = [];
  for (const name of device === undefined ? await everyDevice(client) : [device])
    for (const { tool: changed, digest } of await wanted(client, name, tool, options.digest)) {
      await client.post(`${at(name)}/tools/${encodeURIComponent(changed)}/accept`, { digest });
      accepted.push({ device: name, tool: changed, digest });
    }
  if (options.json === true) printJson({ accepted });
  else if (accepted.length === 0) print("No tool has changed since it was first accepted.");
  else
    for (const each of accepted)
      print(`accepted the current version of ${plain(each.tool)} on ${each.device}`);
}

async function wanted(
  client: GatewayClient,
  device: string,
  tool: string | undefined,
  digest: string | undefined,
): Promise<{ readonly tool: string; readonly digest: string }[]> {
  if (tool !== undefined && digest !== undefined) return [{ tool, digest }];
  const { changes } = await client.get<ToolChanges>(`${at(device)}/changes`);
  const found = changes.filter((each) => tool === undefined || each.tool === tool);
  if (tool !== undefined && found.length === 0)
    throw new OperationError(`${device} has no changed tool named ${plain(tool)}`);
  return found.map((each) => ({ tool: each.tool, digest: each.after.digest }));
}
