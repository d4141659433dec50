/** Arguments of `tendon home-assistant`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";

export function addHomeAssistantCommand(program: Command): Command {
  const command = program.command("home-assistant").description("Devices as entities of Home Assistant.");
  command
    .command("clean")
    .description("Remove everything that Tendon has published for Home Assistant. Stop the gateway first.")
    .option(
      "--broker <url>",
      "mqtt://user:password@host (default: homeAssistant.broker of the configuration)",
    )
    .option("--prefix <prefix>", "discovery prefix (default: homeassistant)")
    .option("--config <file>", "configuration file")
    .option("--data <folder>", "data folder")
    .option("--json", "print the removed topics as JSON")
    .action(async (options) => (await import("./home-assistant.ts")).clean(options));
  return command;
}
