import type { Decided, DeviceDetail, PendingList } from "@tendon/protocol";
import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface AdmissionOptions extends TargetOptions {
  readonly json?: boolean;
}

function at(device: string): string {
  return `/devices/${encodeURIComponent(device)}`;
}

/** Six digits, however grouped, are an activation code: ids are longer, and aliases start with a letter. */
export async function approveDevice(codeOrDevice: string, options: AdmissionOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const digits = codeOrDevice.replaceAll(/[\s-]/g, "");
  const decided = /^\d{6}$/.test(digits)
    ? await client.post<Decided>("/devices/approve", { code: digits })
    : await client.post<Decided>(`${at(codeOrDevice)}/approve`, undefined);
  show(decided, options);
}

export async function revokeDevice(device: string, options: AdmissionOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  show(await client.post<Decided>(`${at(device)}/revoke`, undefined), options);
}

export async function pendingDevices(options: AdmissionOptions): Promise<void> {
  const list = await new GatewayClient(readTarget(options)).get<PendingList>("/devices/pending");
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.pending.length === 0) {
    print("No devices are waiting for approval. A new board shows its code when it starts.");
    return;
  }
  const now = Date.now();
  await printTable(
    ["ID", "BOARD", "FIRMWARE", "FROM", "SINCE", "REMARK"],
    list.pending.map(({ device, board, firmware, from, since, standing, proof }) => [
      colours.bold(device),
      plain(board ?? ""),
      plain(firmware ?? ""),
      from ?? "",
      ago(since, now),
      remark(standing, proof),
    ]),
  );
  if (list.total > list.pending.length) print(`… and ${list.total - list.pending.length} more`);
}

export async function setTransport(
  device: string,
  transport: string,
  options: AdmissionOptions,
): Promise<void> {
  if (!["mqtt", "websocket", "default"].includes(transport))
    throw new UsageError("The transport must be mqtt, websocket or default.");
  const changed = await new GatewayClient(readTarget(options)).patch<DeviceDetail>(at(device), {
    transport: transport === "default" ? null : transport,
  });
  if (options.json === true) printJson(changed);
  else
    print(
      `${changed.alias} will use ${changed.transportSetting ?? "the gateway's default transport"} the next time it starts`,
    );
}

function show(decided: Decided, options: AdmissionOptions): void {
  if (options.json === true) printJson(decided);
  else print(`${decided.alias} (${decided.id}) is ${decided.approval}: ${decided.message}`);
}

function remark(standing: string, proof: string): string {
  const known = {
    taken: colours.yellow("replaces another board with this id"),
    revoked: colours.yellow("was revoked"),
  }[standing];
  const proved = {
    missing: "has not proved its serial number",
    failed: colours.yellow("failed to prove its serial number"),
    given: "has proved its serial number",
  }[proof];
  return [known, proved].filter((part) => part !== undefined).join("; ");
}
