import type { DeviceDetail } from "@tendon/protocol";
import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, plain, print, printJson } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface AddHttpOptions extends TargetOptions {
  readonly header?: string[];
  readonly json?: boolean;
}

/** Adds an MCP server over HTTP as a device. */
export async function addHttpDevice(alias: string, url: string, options: AddHttpOptions): Promise<void> {
  const headers = Object.fromEntries((options.header ?? []).map(readHeader));
  const client = new GatewayClient(readTarget(options));
  const body = { alias, url, ...(options.header === undefined ? {} : { headers }) };
  const made = await client.post<DeviceDetail>("/devices/http", body);
  if (options.json === true) printJson(made);
  else
    print(
      `${colours.bold(plain(made.alias))} is added. Check with \`${ownCommand()} devices\` whether it is online.`,
    );
}

function readHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  // The text may be a secret, so that the message does not repeat it.
  if (colon < 1) throw new UsageError('--header must be "Name: value".');
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}
