/** Arguments of `tendon approvals`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";
import { gatewayOptions } from "../command-options.ts";

export function addApprovalsCommand(program: Command): Command {
  const approvals = program.command("approvals").description("Approve or deny calls that require approval.");
  gatewayOptions(approvals.command("list", { isDefault: true }))
    .description("List the calls that are waiting for approval.")
    .option("--all", "include those that are decided, used or expired")
    .action(async (options) => (await import("./approvals.ts")).listApprovals(options));
  for (const [word, description] of [
    ["approve", "Allow a call once, within ten minutes. You cannot approve your own calls."],
    ["deny", "Deny a call."],
  ] as const) {
    gatewayOptions(approvals.command(word))
      .description(description)
      .argument("<id>", "id of the approval request")
      .action(async (id, options) => (await import("./approvals.ts")).decideApproval(id, word, options));
  }
  return approvals;
}
