import type { CallAsker, CallTrace, QueuedCalls } from "@tendon/protocol";
import { aliasesOf } from "../aliases.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, ahead, colours, complain, plain, plainLines, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";
import { type ExportFormat, writeExport } from "../write-export.ts";

interface CallsOptions extends TargetOptions {
  readonly device?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly limit: number;
  readonly all?: boolean;
  readonly queued?: boolean;
  readonly export?: ExportFormat;
  readonly json?: boolean;
}

interface CallOptions extends TargetOptions {
  readonly json?: boolean;
}

export async function calls(options: CallsOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const { device, tool, outcome, limit } = options;
  if (options.queued === true) {
    await listQueued(client, options);
    return;
  }
  // Open console pages read the status automatically; a list of calls is about the others.
  const query = { device, tool, outcome, limit, automatic: options.all === true ? undefined : false };
  if (options.export !== undefined) {
    await writeExport(client, "/calls", query, options.export);
    return;
  }
  const history = await client.calls.list(query);
  if (history.calls.length === 0 && options.device !== undefined) await requireDevice(client, options.device);
  if (options.json === true) {
    printJson(history);
    return;
  }
  if (history.calls.length === 0) {
    const filtered = [options.device, options.tool, options.outcome].some((given) => given !== undefined);
    print(filtered ? "No matching calls." : "No calls yet.");
    return;
  }
  const aliases = await aliasesOf(
    client,
    history.calls.map(({ device }) => device),
  );
  await printTable(
    ["WHEN", "DEVICE", "TOOL", "BY", "OUTCOME", "MS"],
    history.calls.map(({ at, device, tool, principal, outcome, durationMs }) => [
      colours.dim(at.replace("T", " ").slice(0, 19)),
      aliases.get(device) ?? device,
      plain(tool),
      principal,
      outcome === "ok" ? colours.green(outcome) : colours.yellow(outcome),
      String(Math.round(durationMs)),
    ]),
  );
}

async function listQueued(client: GatewayClient, { device, tool, limit, json }: CallsOptions): Promise<void> {
  const page = await client.calls.queued({ device, tool, limit });
  if (page.calls.length === 0 && device !== undefined) await requireDevice(client, device);
  if (json === true) printJson(page);
  else await printQueuedCalls(client, page);
}

async function printQueuedCalls(
  client: GatewayClient,
  { calls: waiting, nextCursor }: QueuedCalls,
): Promise<void> {
  if (waiting.length === 0) {
    print("No calls wait for their device.");
    return;
  }
  const now = Date.now();
  const aliases = await aliasesOf(
    client,
    waiting.map(({ device }) => device),
  );
  await printTable(
    ["ID", "QUEUED", "DEVICE", "TOOL", "ARGUMENTS", "BY", "EXPIRES"],
    waiting.map(({ callId, askedAt, device, tool, preview, principal, expiresAt }) => [
      callId,
      colours.dim(ago(askedAt, now)),
      aliases.get(device) ?? device,
      plain(tool),
      plain(preview?.arguments ?? ""),
      plain(principal),
      ahead(expiresAt, now),
    ]),
  );
  if (nextCursor !== undefined) complain(`Showing the ${waiting.length} oldest calls. Use a higher --limit.`);
}

export async function showCall(id: string, options: CallOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const trace = await client.calls.get(id);
  if (options.json === true) {
    printJson(trace);
    return;
  }
  const asker = trace.origin?.asker;
  const aliases = await aliasesOf(
    client,
    [trace.device, asker?.device].filter((id) => id !== undefined),
  );
  print(`${plain(trace.tool)} on ${aliases.get(trace.device) ?? trace.device}, by ${plain(trace.principal)}`);
  print(stateOf(trace));
  if (asker !== undefined) print(`asked by ${askerText(asker, aliases)}`);
  for (const item of trace.answer?.content ?? [])
    print(
      item["type"] === "text"
        ? plainLines(String(item["text"]))
        : colours.dim(`[${plain(String(item["type"]))}]`),
    );
}

/** The board first; the rest is what the voice agent says about it. */
function askerText({ device, ...said }: CallAsker, aliases: ReadonlyMap<string, string>): string {
  const board = device === undefined ? [] : [aliases.get(device) ?? device];
  const names = { serialNumber: "serial number", clientId: "client", agentId: "agent" } as const;
  const rest = (Object.keys(names) as (keyof typeof names)[]).flatMap((key) =>
    said[key] === undefined ? [] : [`${names[key]} ${plain(said[key])}`],
  );
  return [...board, ...rest].join(", ");
}

function stateOf({ state, outcome, detail, askedAt, expiresAt, at }: CallTrace): string {
  const now = Date.now();
  if (state === "queued" && expiresAt !== null)
    return `queued ${ago(askedAt, now)}; runs when the device is next online; expires ${ahead(expiresAt, now)}`;
  if (state !== "finished" || outcome === null) return `running; asked ${ago(askedAt, now)}`;
  const reason = detail === null ? "" : `: ${plain(detail)}`;
  return `${outcome === "ok" ? colours.green(outcome) : colours.yellow(outcome)} ${ago(at, now)}${reason}`;
}

export async function cancelCall(id: string, options: CallOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const trace = await client.calls.cancel(id);
  if (options.json === true) {
    printJson(trace);
    return;
  }
  const aliases = await aliasesOf(client, [trace.device]);
  print(`cancelled: ${plain(trace.tool)} on ${aliases.get(trace.device) ?? trace.device}`);
}

/** Throws if the device is unknown. A deleted device may still have calls in the history. */
async function requireDevice(client: GatewayClient, device: string): Promise<void> {
  const { calls: any } = await client.calls.list({ device, limit: 1 });
  if (any.length === 0) await client.devices.get(device);
}
