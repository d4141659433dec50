import type { ApprovalList, ApprovalView } from "@tendon/protocol";
import { aliasesOf } from "../aliases.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ApprovalsOptions extends TargetOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** As much of the arguments as a line of a table bears. */
const shownArguments = 60;

export async function listApprovals(options: ApprovalsOptions): Promise<void> {
  const query = options.all === true ? "" : "?state=waiting";
  const client = new GatewayClient(readTarget(options));
  const list = await client.get<ApprovalList>(`/approvals${query}`);
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.approvals.length === 0) {
    print(options.all === true ? "Nothing has been asked lately." : "Nothing waits for approval.");
    return;
  }
  const now = Date.now();
  const devices = list.approvals.flatMap(({ device }) => device ?? []);
  const aliases = await aliasesOf(client, devices);
  await printTable(
    ["ID", "ASKED", "BY", "DEVICE", "TOOL", "ARGUMENTS", "STATE"],
    list.approvals.map((approval) => [
      approval.id,
      colours.dim(ago(approval.askedAt, now)),
      plain(approval.principal),
      whereTo(approval, aliases),
      plain(approval.tool),
      shortened(plain(JSON.stringify(approval.arguments))),
      approval.state,
    ]),
  );
}

export async function decideApproval(
  id: string,
  word: "approve" | "deny",
  options: ApprovalsOptions,
): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const decided = await client.post<ApprovalView>(`/approvals/${encodeURIComponent(id)}/${word}`, {});
  if (options.json === true) {
    printJson(decided);
    return;
  }
  const aliases = await aliasesOf(client, decided.device === null ? [] : [decided.device]);
  const what = `${plain(decided.tool)} on ${whereTo(decided, aliases)} for ${plain(decided.principal)}`;
  print(word === "approve" ? `approved: ${what}, once, within ten minutes` : `denied: ${what}`);
}

function whereTo({ device, target }: ApprovalView, aliases: ReadonlyMap<string, string>): string {
  if (device !== null) return aliases.get(device) ?? device;
  const devices: unknown = target?.["devices"];
  return `${Array.isArray(devices) ? devices.length : String(target?.["count"] ?? "many")} devices`;
}

function shortened(text: string): string {
  return text.length > shownArguments ? `${text.slice(0, shownArguments - 1)}…` : text;
}
