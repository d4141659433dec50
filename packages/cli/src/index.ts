/** The `tendon` command. Each subcommand's file is loaded only when the subcommand runs. */
import { Argument, Command, CommanderError, Option } from "commander";
import {
  connectionOptions,
  described,
  exportOption,
  gatewayCommand,
  queueOptions,
  wholeNumber,
} from "./command-options.ts";
import { addApprovalsCommand } from "./commands/approvals-arguments.ts";
import { addCallsCommand } from "./commands/calls-arguments.ts";
import { addConfigCommand } from "./commands/config-arguments.ts";
import { addDeviceCommand } from "./commands/device-arguments.ts";
import { addFirmwareCommand } from "./commands/firmware-arguments.ts";
import { addHomeCommand } from "./commands/home-arguments.ts";
import { addHomeAssistantCommand } from "./commands/home-assistant-arguments.ts";
import { addSimulateCommand } from "./commands/simulate-arguments.ts";
import { addTokenCommand } from "./commands/token-arguments.ts";
import { addWebhookCommand } from "./commands/webhook-arguments.ts";
import { UsageError } from "./errors.ts";
import { reporting } from "./report.ts";
import { version } from "./version.ts";

export async function main(argv: string[]): Promise<void> {
  await reporting(argv, async () => {
    try {
      await build().parseAsync(argv);
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      // Commander has printed it.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
    }
  });
}

function build(): Command {
  const program = new Command("tendon")
    .description("Gives AI agents, apps and people safe, live control of devices that offer tools.")
    .version(version, "-V, --version", "print the version")
    // Options after a subcommand belong to it: `firmware add --version 2.5.0` does not ask for the program's version.
    .enablePositionalOptions()
    .helpOption("-h, --help", "show help")
    .showHelpAfterError("(run with --help for usage)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });

  program
    .command("serve")
    .summary("run the gateway")
    .description(
      "Run the gateway. Devices connect to it; agents, apps and people use their tools through it.",
    )
    .option("--demo", "add virtual devices to try out; does not change any policy")
    .option("--host <address>", "address to listen on (default 127.0.0.1)")
    .option("--port <number>", "port to listen on, 0 for any free one (default 8000)", wholeNumber)
    .option(
      "--mqtt-port <number>",
      "port for MQTT, 0 for any free one, off for MQTT with TLS only (default 1883)",
      (text) => (text === "off" ? text : wholeNumber(text)),
    )
    .option("--data <folder>", "data folder, for everything that survives a restart (default ./data)")
    .option(
      "--config <file>",
      "configuration file (default tendon.yaml in the working folder or the data folder)",
    )
    .option("--allow-open", "allow open admission on an address that other machines can reach")
    .option("--json", "print one line of JSON when ready")
    .allowExcessArguments()
    .action(async (options, { args }: Command) => {
      checkNoArguments(args);
      await (await import("./commands/serve.ts")).serve(options);
    });

  gatewayCommand(program, "devices", "list the devices")
    .addOption(new Option("--online", "only connected devices").conflicts("offline"))
    .option("--offline", "only devices that are not connected")
    .option("--search <text>", "only devices whose id, alias, name, board or tags contain this text")
    .option("--tag <tag>", "only devices with this tag")
    .option(
      "--sort <column>",
      "alias, board, transport, tools, battery or lastSeen; descending as -lastSeen (default: by id)",
    )
    .option("--limit <number>", "maximum number of devices (default: all)", wholeNumber)
    .action(async (options) => (await import("./commands/devices.ts")).devices(options));

  gatewayCommand(program, "tools", "list the tools of a device")
    .argument("<device>", "id or alias")
    .option("--user", "include user-only tools")
    .action(async (device, options) => (await import("./commands/tools.ts")).tools(device, options));

  queueOptions(gatewayCommand(program, "call", "call a tool of a device and print the result"))
    .argument("<device>", "id or alias")
    .argument("<tool>", "the tool's name, such as self.audio_speaker.set_volume")
    .argument("[arguments...]", "key=value for each argument")
    .option("--args <json>", "all arguments as one JSON object")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 5s or 2m")
    .addOption(
      new Option("--output <file>", "write the image or audio of the result to a file").conflicts("queue"),
    )
    .action(async (device, tool, pairs, options) =>
      (await import("./commands/call.ts")).call(device, tool, pairs, options),
    );

  const calls = addCallsCommand(program);

  gatewayCommand(
    program,
    "audit",
    "list who changed what, newest first: tokens, devices, approvals, firmware, webhooks",
  )
    .option("--principal <name>", "only changes by this token, or by admin")
    .option("--action <action>", "only this action, such as token.create or device.revoke")
    .option("--since <time>", "only changes since this time, such as 2027-01-31")
    .option("--limit <number>", "maximum number of entries", wholeNumber, 50)
    .addOption(exportOption("entries"))
    .action(async (options) => (await import("./commands/audit.ts")).audit(options));

  queueOptions(gatewayCommand(program, "control", "send a device_control action to a device"))
    .argument("<device>", "id or alias")
    .argument("<action>", "set_volume, volume_up, volume_down, get_volume, mute, unmute, or a custom action")
    .argument("[fields...]", "key=value for each field of the action")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 5s or 2m")
    .action(async (device, action, pairs, options) =>
      (await import("./commands/control.ts")).control(device, action, pairs, options),
    );

  gatewayCommand(
    program,
    "nodes",
    "list the nodes of the gateway, its storage and its cluster connection, or even out their devices",
  )
    .addArgument(
      new Argument("[action]", "balance: send boards of full nodes to the others").choices(["balance"]),
    )
    .action(async (action: "balance" | undefined, options) => {
      const { balanceNodes, nodes } = await import("./commands/nodes.ts");
      await (action === "balance" ? balanceNodes(options) : nodes(options));
    });

  gatewayCommand(program, "watch", "print events as they happen")
    .option("--device <device>", "only events of this device")
    .option("--type <types>", "only these event types, separated by commas")
    .action(async (options) => (await import("./commands/watch.ts")).watch(options));

  gatewayCommand(program, "console", "print a one-time link that opens the console and signs in").action(
    async (options) => (await import("./commands/console.ts")).consoleLink(options),
  );

  gatewayCommand(program, "voice", "list the active voice conversations").action(async (options) =>
    (await import("./commands/voice.ts")).voice(options),
  );

  const simulate = addSimulateCommand(program);
  addHomeCommand(program);
  const groups = [
    calls,
    simulate,
    addDeviceCommand(program),
    addApprovalsCommand(program),
    addTokenCommand(program),
    addFirmwareCommand(program),
    addWebhookCommand(program),
    addHomeAssistantCommand(program),
    addConfigCommand(program),
  ];

  const bridge = "stdio MCP server for desktop clients: a bridge to the running gateway";
  connectionOptions(described(program, "mcp", bridge), "a token of its own, kept in DATA/mcp-token")
    .option("--flat", "list every device tool, regardless of their number")
    .option("--compact", "list only the tools that find and call device tools")
    .option("--device <device>", "list the tools of one device, without the device prefix")
    .action(async (options) => (await import("./commands/mcp.ts")).mcp(options));

  gatewayCommand(program, "doctor", "check this installation and print how to connect clients")
    .option("--config <file>", "configuration file to check")
    .option("--create-token", "create the token of desktop clients, DATA/mcp-token, if it is missing")
    .action(async (options) => (await import("./commands/doctor.ts")).doctor(options));

  described(program, "init", "write a tendon.yaml: three questions, or their flags")
    .option("--reach <address>", "where boards reach this machine: a name, an address, or this-machine")
    .option("--admission <policy>", "who may join: approve, list, open or closed")
    .option("--client <client>", "client to connect: claude-desktop, claude-code, cursor, vs-code or none")
    .option("--yes", "do not ask; use the defaults for what is left out")
    .option("--config <file>", "file to write (default tendon.yaml)")
    .option("--data <folder>", "data folder to write into the file (default ./data)")
    .option("--force", "overwrite the file")
    .option("--json", "print JSON")
    .action(async (options) => (await import("./commands/init.ts")).init(options));

  described(program, "backup", "save the data folder in one file, also while the gateway runs")
    .argument("<file>", "file to write, such as tendon-backup.tar.gz")
    .option("--data <folder>", "data folder to save (TENDON_DATA; default ./data)")
    .option("--config <file>", "configuration file of the gateway")
    .option("--force", "overwrite the file")
    .option("--without-database", "save only the files of the data folder, with PostgreSQL")
    .option("--json", "print JSON")
    .action(async (file, options) => (await import("./commands/backup.ts")).backup(file, options));

  described(program, "restore", "restore a backup into an empty data folder")
    .argument("<file>", "file that `tendon backup` wrote")
    .option("--data <folder>", "data folder to create, or an empty one (TENDON_DATA; default ./data)")
    .option("--json", "print JSON")
    .action(async (file, options) => (await import("./commands/backup.ts")).restore(file, options));

  // Subcommands do not inherit these settings. Without them, commander ends the process on an unknown option.
  for (const command of [program, ...groups].flatMap(({ commands }) => commands)) {
    command.exitOverride().showHelpAfterError("(run with --help for usage)");
  }
  return program;
}

/** npm reads the option of `npm start --port 9000` itself, and only its value reaches the command. */
function checkNoArguments([first]: readonly string[]): void {
  if (first === undefined) return;
  const byNpm = process.env["npm_lifecycle_event"] === "start";
  const hint = byNpm
    ? " Write options after `--`, such as `npm start -- --port 8080`: npm keeps the others for itself."
    : " Run it with --help for the list.";
  throw new UsageError(`serve takes options only, got \`${first}\`.${hint}`);
}
