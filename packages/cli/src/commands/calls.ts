import { aliasesOf } from "../aliases.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";
import { type ExportFormat, writeExport } from "../write-export.ts";

interface CallsOptions extends TargetOptions {
  readonly device?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly limit: number;
  readonly all?: boolean;
  readonly export?: ExportFormat;
  readonly json?: boolean;
}

export async function calls(options: CallsOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const { device, tool, outcome, limit } = options;
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

/** Throws if the device is unknown. A deleted device may still have calls in the history. */
async function requireDevice(client: GatewayClient, device: string): Promise<void> {
  const { calls: any } = await client.calls.list({ device, limit: 1 });
  if (any.length === 0) await client.devices.get(device);
}
