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
