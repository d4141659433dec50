import type { ApprovalView } from "@tendon/protocol";
import { aliasesOf } from "../aliases.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ApprovalsOptions extends TargetOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** Longest arguments that fit in a row of the table. */
const maxArgumentsLength = 60;

export async function listApprovals(options: ApprovalsOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const list = await client.approvals.list({ state: options.all === true ? undefined : "waiting" });
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.approvals.length === 0) {
    print(options.all === true ? "No recent approval requests." : "No pending approvals.");
    return;
  }
  const now = Date.now();
  const devices = list.approvals.flatMap(({ device }) => device ?? []);
  const aliases = await aliasesOf(client, devices);
  await printTable(
    ["ID", "REQUESTED", "BY", "DEVICE", "TOOL", "ARGUMENTS", "STATE"],
    list.approvals.map((approval) => [
      approval.id,
      colours.dim(ago(approval.askedAt, now)),
      plain(approval.principal),
      targetOf(approval, aliases),
      plain(approval.tool),
      shortened(plain(JSON.stringify(approval.arguments))),
      approval.state,
    ]),
  );
}

export async function decideApproval(
  id: string,
  decision: "approve" | "deny",
  options: ApprovalsOptions,
): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const decided = await client.approvals[decision](id);
  if (options.json === true) {
    printJson(decided);
    return;
  }
  const aliases = await aliasesOf(client, decided.device === null ? [] : [decided.device]);
  const what = `${plain(decided.tool)} on ${targetOf(decided, aliases)} for ${plain(decided.principal)}`;
  print(decision === "approve" ? `approved: ${what}, once, within ten minutes` : `denied: ${what}`);
}

function targetOf({ device, target }: ApprovalView, aliases: ReadonlyMap<string, string>): string {
  if (device !== null) return aliases.get(device) ?? device;
  const devices: unknown = target?.["devices"];
  return `${Array.isArray(devices) ? devices.length : String(target?.["count"] ?? "many")} devices`;
}

function shortened(text: string): string {
  return text.length > maxArgumentsLength ? `${text.slice(0, maxArgumentsLength - 1)}…` : text;
}
