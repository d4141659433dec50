import type { Device } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface DevicesOptions extends TargetOptions {
  readonly online?: boolean;
  readonly search?: string;
  readonly json?: boolean;
}

export async function devices(options: DevicesOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const found: Device[] = [];
  let cursor: string | undefined;
  do {
    const { online, search: q } = options;
    const page = await client.devices.list({ limit: 1_000, online, q, cursor });
    found.push(...page.devices);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (options.json === true) {
    printJson({ devices: found });
    return;
  }
  if (found.length === 0) {
    const filtered = options.online === true || options.search !== undefined;
    print(
      filtered ? "No matching devices." : "No devices yet. Start a virtual one with `tendon simulate esp32`.",
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
}

/** A revoked device may stay connected for a moment, until the gateway has disconnected it. */
function stateOf({ online, approval }: Device): string {
  if (approval === "revoked") return colours.yellow("revoked");
  return online ? colours.green("online") : colours.dim("offline");
}
