/** Arguments of `tendon config`. The implementation is loaded only when a subcommand runs. */
import type { Command } from "commander";

export function addConfigCommand(program: Command): Command {
  const config = program.command("config").description("Check or show the configuration.");
  for (const [name, description] of [
    ["check", "Check whether the gateway would start with the configuration."],
    ["show", "Print the effective configuration, with secrets hidden."],
  ] as const) {
    const command = config
      .command(name)
      .description(description)
      .option(
        "--config <file>",
        "configuration file (default tendon.yaml in the working folder or the data folder)",
      )
      .option("--data <folder>", "data folder (default ./data)")
      .option("--json", "print JSON")
      .action(async (options) => {
        const commands = await import("./config.ts");
        await (name === "check" ? commands.checkConfig(options) : commands.showConfig(options));
      });
    if (name === "check") command.option("--allow-open", "check as for `tendon serve --allow-open`");
  }
  return config;
}
