import { type Device, type DeviceList, type DeviceOrder, deviceSortKeys } from "@tendon/protocol";
import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface DevicesOptions extends TargetOptions {
  readonly online?: boolean;
  readonly offline?: boolean;
  readonly search?: string;
  readonly tag?: string;
  readonly sort?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

const pageSize = 1_000;

export async function devices(options: DevicesOptions): Promise<void> {
  const { search: q, tag, limit = Number.POSITIVE_INFINITY } = options;
  const sort = readSort(options.sort);
  if (limit === 0) throw new UsageError("--limit must be 1 or more.");
  const client = new GatewayClient(readTarget(options));
  const online = options.online ?? (options.offline === true ? false : undefined);
  const query = { online, q, tag, sort };
  const first = await client.devices.list({ ...query, limit: Math.min(limit, pageSize) });
  const { total, online: onlineCount } = first;
  const found = [...first.devices];
  let cursor = first.nextCursor;
  while (cursor !== undefined && found.length < limit) {
    const size = Math.min(limit - found.length, pageSize);
    const page: DeviceList = await client.devices.list({ ...query, limit: size, cursor });
    found.push(...page.devices);
    cursor = page.nextCursor;
  }
  if (options.json === true) {
    printJson({ devices: found, total, online: onlineCount });
    return;
  }
  if (found.length === 0) {
    const filtered = online !== undefined || q !== undefined || tag !== undefined;
    print(
      filtered
        ? "No matching devices."
        : `No devices yet. Start a virtual one with \`${ownCommand()} simulate esp32\`.`,
    );
    return;
  }
  const now = Date.now();
  await printTable(
    ["ALIAS", "ID", "STATE", "TRANSPORT", "BOARD", "FIRMWARE", "TOOLS", "LAST SEEN"],
    found.map((device) => [
      colours.bold(device.alias),
      device.id,
      stateOf(device),
      device.transport ?? "",
      plain(device.board ?? ""),
      plain(device.firmware ?? ""),
      `${device.toolCount}${device.toolsComplete || !device.mcp ? "" : "…"}`,
      ago(device.lastSeenAt, now),
    ]),
  );
  if (total !== undefined && found.length < total) {
    complain(
      `Showing ${found.length} of ${total} devices. Use a higher --limit, or none, to list the others.`,
    );
  }
}

function readSort(text: string | undefined): DeviceOrder | undefined {
  if (text === undefined) return undefined;
  const known = deviceSortKeys.flatMap((key): DeviceOrder[] => [key, `-${key}`]).find((key) => key === text);
  if (known === undefined) throw new UsageError(`--sort must be one of: ${deviceSortKeys.join(", ")}.`);
  return known;
}

/** A revoked device may stay connected for a moment, until the gateway has disconnected it. */
function stateOf({ online, approval, waitingCalls }: Device): string {
  if (approval === "revoked") return colours.yellow("revoked");
  if (online) return colours.green("online");
  return colours.dim(waitingCalls === 0 ? "offline" : `offline, ${waitingCalls} queued`);
}
