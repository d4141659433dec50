/** Arguments of `tendon calls`. The implementation is loaded only when the command runs. */
import { type Command, Option } from "commander";
import { exportOption, gatewayCommand, gatewayOptions, wholeNumber } from "../command-options.ts";

export function addCallsCommand(program: Command): Command {
  const calls = gatewayCommand(program, "calls", "list the call history, newest first, or the queued calls")
    // Options after a subcommand belong to it.
    .enablePositionalOptions()
    .option("--device <device>", "only calls to this device")
    .option("--tool <tool>", "only calls of this tool")
    .option(
      "--outcome <outcome>",
      "only calls with this outcome: ok, tool_error, an error code, expired, cancelled, superseded or refused",
    )
    .option("--limit <number>", "maximum number of calls", wholeNumber, 50)
    .option("--all", "include the automatic status reads of open console pages")
    .addOption(
      new Option("--queued", "list the calls that wait for their device, oldest first").conflicts([
        "outcome",
        "all",
        "export",
      ]),
    )
    .addOption(exportOption("calls"))
    .action(async (options) => (await import("./calls.ts")).calls(options));
  gatewayOptions(calls.command("show"))
    .description("Print the state of one call, and its answer.")
    .argument("<id>", "id of the call")
    .action(async (id, options) => (await import("./calls.ts")).showCall(id, options));
  gatewayOptions(calls.command("cancel"))
    .description("Cancel a call that waits for its device.")
    .argument("<id>", "id of the queued call")
    .action(async (id, options) => (await import("./calls.ts")).cancelCall(id, options));
  return calls;
}
