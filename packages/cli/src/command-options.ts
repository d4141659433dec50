/** Options that several commands share. */
import { type Command, InvalidArgumentError, Option } from "commander";

export function gatewayCommand(program: Command, name: string, description: string): Command {
  return gatewayOptions(described(program, name, description));
}

export function described(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(`${description[0]?.toUpperCase()}${description.slice(1)}.`)
    .summary(description);
}

export function gatewayOptions(command: Command): Command {
  const token = "DATA/admin-token, for the data folder's gateway";
  return connectionOptions(command, token).option("--json", "print JSON");
}

export function connectionOptions(command: Command, token: string): Command {
  return command
    .option("--url <url>", "address of the gateway (TENDON_URL; default: the data folder's gateway)")
    .option("--token <token>", `token to use (TENDON_TOKEN; default: ${token})`)
    .option("--data <folder>", "the gateway's data folder (TENDON_DATA; default ./data)");
}

/** Options of commands whose call may wait for its device. */
export function queueOptions(command: Command): Command {
  return command
    .option("--queue", "if the device is offline, run it when the device is next online")
    .option(
      "--expires <duration>",
      "with --queue: how long it may wait, 1s to 30d, such as 30m or 7d (default 24h)",
    )
    .option(
      "--supersede <key>",
      "with --queue: replace your older queued call of this tool that has the same key",
    );
}

/** `--export csv` writes a whole list to the standard output, as a file. */
export function exportOption(rows: string): Option {
  return new Option("--export <format>", `write all matching ${rows} to the standard output`).choices([
    "csv",
    "ndjson",
  ]);
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}
