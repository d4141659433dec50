/** The `tendon` command. Each subcommand's file is loaded only when the subcommand runs. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { addFirmwareCommand } from "./commands/firmware-arguments.ts";
import { addHomeCommand } from "./commands/home-arguments.ts";
import { OperationError, UsageError } from "./errors.ts";
import { version } from "./version.ts";

export async function main(argv: string[]): Promise<void> {
  // A reader such as `head` may close the pipe early. That is not an error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  const program = build();
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = report(error, argv.includes("--json"));
  }
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
    .option("--mqtt-port <number>", "port for MQTT, 0 for any free one (default 1883)", wholeNumber)
    .option("--data <folder>", "data folder, for everything that survives a restart (default ./data)")
    .option(
      "--config <file>",
      "configuration file (default tendon.yaml in the working folder or the data folder)",
    )
    .option("--allow-open", "allow open admission on an address that other machines can reach")
    .option("--json", "print one line of JSON when ready")
    .action(async (options) => (await import("./commands/serve.ts")).serve(options));

  gatewayCommand(program, "devices", "list the devices")
    .option("--online", "only connected devices")
    .option("--search <text>", "only devices whose id, alias or board contains this text")
    .action(async (options) => (await import("./commands/devices.ts")).devices(options));

  gatewayCommand(program, "tools", "list the tools of a device")
    .argument("<device>", "id or alias")
    .option("--user", "include user-only tools")
    .action(async (device, options) => (await import("./commands/tools.ts")).tools(device, options));

  gatewayCommand(program, "call", "call a tool of a device and print the result")
    .argument("<device>", "id or alias")
    .argument("<tool>", "the tool's name, such as self.audio_speaker.set_volume")
    .argument("[arguments...]", "key=value for each argument")
    .option("--args <json>", "all arguments as one JSON object")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 5s or 2m")
    .option("--output <file>", "write the image or audio of the result to a file")
    .action(async (device, tool, pairs, options) =>
      (await import("./commands/call.ts")).call(device, tool, pairs, options),
    );

  gatewayCommand(program, "calls", "list the call history, newest first")
    .option("--device <device>", "only calls to this device")
    .option("--tool <tool>", "only calls of this tool")
    .option("--outcome <outcome>", "only calls with this outcome: ok, tool_error or an error code")
    .option("--limit <number>", "maximum number of calls", wholeNumber, 50)
    .action(async (options) => (await import("./commands/calls.ts")).calls(options));

  gatewayCommand(program, "control", "send a device_control action to a device")
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
    "list the nodes of the gateway, its storage and its cluster connection",
  ).action(async (options) => (await import("./commands/nodes.ts")).nodes(options));

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

  const simulate = program.command("simulate").description("Run simulated devices and servers.");
  gatewayOptions(simulate.command("esp32"))
    .description("Run virtual ESP32 devices. On a local gateway they provision themselves.")
    .addOption(
      new Option("--transport <name>", "transport of the devices (default ws)").choices(["ws", "mqtt"]),
    )
    .option("--count <number>", "number of devices", wholeNumber, 1)
    .option(
      "--id <mac>",
      "id of the first device; the others count up from it (default 02:00:00:00:10:01; with --await-approval a random one)",
    )
    .option("--board <name>", "board name", "virtual-esp32")
    .option("--tools <file>", "additional tools from a YAML, JSON or JavaScript file")
    .option("--fault <name...>", "simulate a fault; `--fault list` describes each")
    .option("--ota", "request their settings at every boot, as real boards do, and install offered firmware")
    .option(
      "--await-approval",
      "start as factory-new boards: with a new Client-Id, show a code and wait for approval",
    )
    .option("--device-token <token>", "device token, when --url is a ws:// or wss:// address")
    .option("--speak <pause>", "talk to a voice server, with this pause after each answer, such as 5s")
    .action(async (options) => (await import("./commands/simulate.ts")).simulateEsp32(options));

  simulate
    .command("voice-server")
    .description(
      "Run a scripted voice server. It recognizes no speech and answers every question with a chime.",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on, 0 for any free one", wholeNumber, 8001)
    .option("--require-token <token>", "reject connections without this token")
    .option("--packets <number>", "number of audio packets that make a question", wholeNumber, 10)
    .option("--call-tool <name>", "device tool to call before each answer")
    .option("--fault <name...>", "simulate a fault; `--fault list` describes each")
    .option("--json", "print JSON")
    .action(async (options) =>
      (await import("./commands/simulate-voice-server.ts")).simulateVoiceServer(options),
    );

  addHomeCommand(program);

  const device = program.command("device").description("Approve, rename, tag, revoke and delete devices.");
  gatewayOptions(device.command("approve"))
    .description("Approve a device by its activation code or its id.")
    .argument("<code|device>", "six digits, or the id of a device that is waiting for approval")
    .action(async (name, options) =>
      (await import("./commands/device-admission.ts")).approveDevice(name, options),
    );
  gatewayOptions(device.command("pending"))
    .description("List the devices that are waiting for approval.")
    .action(async (options) => (await import("./commands/device-admission.ts")).pendingDevices(options));
  gatewayOptions(device.command("revoke"))
    .description("Revoke a device's credentials and disconnect it.")
    .argument("<device>", "id or alias")
    .action(async (name, options) =>
      (await import("./commands/device-admission.ts")).revokeDevice(name, options),
    );
  gatewayOptions(device.command("transport"))
    .description("Set the transport that a device is given the next time it starts.")
    .argument("<device>", "id or alias")
    .argument("<transport>", "mqtt, websocket, or default for the gateway's setting")
    .action(async (name, transport, options) =>
      (await import("./commands/device-admission.ts")).setTransport(name, transport, options),
    );
  gatewayOptions(device.command("import"))
    .description("Import devices that may connect without approval.")
    .argument("<file>", "CSV with a header (id, serial, hmac_key, tags), or one JSON object per line")
    .action(async (file, options) =>
      (await import("./commands/device-import.ts")).importDevices(file, options),
    );
  gatewayOptions(device.command("changes"))
    .description("Show the tools that changed since they were first accepted.")
    .argument("[device]", "id or alias; all devices by default")
    .action(async (name, options) =>
      (await import("./commands/device-changes.ts")).toolChanges(name, options),
    );
  gatewayOptions(device.command("accept"))
    .description("Accept a changed tool.")
    .argument("<device>", "id or alias")
    .argument("<tool>", "name of the tool")
    .option("--digest <digest>", "accept only this digest, as shown by `device changes`")
    .action(async (name, tool, options) =>
      (await import("./commands/device-changes.ts")).acceptTool(name, tool, options),
    );
  gatewayOptions(device.command("rename"))
    .description("Give a device another alias. The old alias keeps working.")
    .argument("<device>", "id or alias")
    .argument("<alias>", "lower-case letters, digits and dashes, starting with a letter")
    .action(async (name, alias, options) =>
      (await import("./commands/device.ts")).renameDevice(name, alias, options),
    );
  gatewayOptions(device.command("tag"))
    .description("Replace the tags of a device.")
    .argument("<device>", "id or alias")
    .argument("[tags...]", "the new tags; none removes all tags")
    .action(async (name, tags, options) =>
      (await import("./commands/device.ts")).tagDevice(name, tags, options),
    );
  gatewayOptions(device.command("delete"))
    .description("Delete a device and its credentials.")
    .argument("<device>", "id or alias")
    .action(async (name, options) => (await import("./commands/device.ts")).deleteDevice(name, options));

  const approvals = program.command("approvals").description("Approve or deny calls that require approval.");
  gatewayOptions(approvals.command("list", { isDefault: true }))
    .description("List the calls that are waiting for approval.")
    .option("--all", "include those that are decided, used or expired")
    .action(async (options) => (await import("./commands/approvals.ts")).listApprovals(options));
  for (const [word, description] of [
    ["approve", "Allow a call once, within ten minutes. You cannot approve your own calls."],
    ["deny", "Deny a call."],
  ] as const) {
    gatewayOptions(approvals.command(word))
      .description(description)
      .argument("<id>", "id of the approval request")
      .action(async (id, options) =>
        (await import("./commands/approvals.ts")).decideApproval(id, word, options),
      );
  }

  const token = program.command("token").description("Create, list and revoke tokens.");
  gatewayOptions(token.command("create"))
    .description("Create a token. It is shown only once.")
    .argument("<name>", "name of the program, agent or person it is for")
    .option("--scope <scope...>", "read, call, call:user, provision, admin (default read call)")
    .option("--device <id...>", "only these devices")
    .option("--tag <tag...>", "only devices with these tags")
    .option("--expires <time>", "expiry date, such as 2027-01-31")
    .action(async (name, options) => (await import("./commands/token.ts")).createToken(name, options));
  gatewayOptions(token.command("list"))
    .description("List the tokens, without their secrets.")
    .action(async (options) => (await import("./commands/token.ts")).listTokens(options));
  gatewayOptions(token.command("revoke"))
    .description("Revoke a token and close its open connections.")
    .argument("<id|name>", "id of the token, or its name if no other token has the same")
    .action(async (name, options) => (await import("./commands/token.ts")).revokeToken(name, options));

  const firmware = addFirmwareCommand(program, gatewayOptions);

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
        const commands = await import("./commands/config.ts");
        await (name === "check" ? commands.checkConfig(options) : commands.showConfig(options));
      });
    if (name === "check") command.option("--allow-open", "check as for `tendon serve --allow-open`");
  }

  const bridge = "stdio MCP server for desktop clients: a bridge to the running gateway";
  connectionOptions(described(program, "mcp", bridge), "a token of its own, kept in DATA/mcp-token")
    .option("--flat", "list every device tool, regardless of their number")
    .option("--compact", "list only the tools that find and call device tools")
    .option("--device <device>", "list the tools of one device, without the device prefix")
    .action(async (options) => (await import("./commands/mcp.ts")).mcp(options));

  gatewayCommand(program, "doctor", "check this installation and print how to connect clients")
    .option("--config <file>", "configuration file to check")
    .action(async (options) => (await import("./commands/doctor.ts")).doctor(options));

  // Subcommands do not inherit these settings. Without them, commander ends the process on an unknown option.
  for (const command of [
    ...program.commands,
    ...simulate.commands,
    ...config.commands,
    ...token.commands,
    ...approvals.commands,
    ...device.commands,
    ...firmware.commands,
  ]) {
    command.exitOverride().showHelpAfterError("(run with --help for usage)");
  }
  return program;
}

function gatewayCommand(program: Command, name: string, description: string): Command {
  return gatewayOptions(described(program, name, description));
}

function described(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(`${description[0]?.toUpperCase()}${description.slice(1)}.`)
    .summary(description);
}

function gatewayOptions(command: Command): Command {
  const token = "DATA/admin-token, for the data folder's gateway";
  return connectionOptions(command, token).option("--json", "print JSON");
}

function connectionOptions(command: Command, token: string): Command {
  return command
    .option("--url <url>", "address of the gateway (TENDON_URL; default: the data folder's gateway)")
    .option("--token <token>", `token to use (TENDON_TOKEN; default: ${token})`)
    .option("--data <folder>", "the gateway's data folder (TENDON_DATA; default ./data)");
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

/** Prints the error without a stack trace and returns the exit code: 1 the operation failed, 2 wrong usage. */
function report(error: unknown, json: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    process.stderr.write(`tendon: ${error.message}\n`);
    return 2;
  }
  if (error instanceof OperationError) {
    if (json && error.problem !== undefined) process.stdout.write(`${JSON.stringify(error.problem)}\n`);
    process.stderr.write(`tendon: ${error.message}\n`);
    return 1;
  }
  if (error instanceof Error && error.name === "StartError") {
    process.stderr.write(`tendon: ${error.message}\n`);
    return 1;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`tendon: unexpected error. This is a bug, please report it:\n${text}\n`);
  return 1;
}
