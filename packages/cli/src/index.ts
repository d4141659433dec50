/** The `tendon` command. Each subcommand is a file that is loaded only when it is used. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { addFirmwareCommand } from "./commands/firmware-arguments.ts";
import { addHomeCommand } from "./commands/home-arguments.ts";
import { OperationError, UsageError } from "./errors.ts";
import { version } from "./version.ts";

export async function main(argv: string[]): Promise<void> {
  // Whoever reads along may stop reading, as `head` does; that is no failure of ours.
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
    // What stands behind a subcommand is the subcommand's: `firmware add --version 2.5.0` asks for no version of ours.
    .enablePositionalOptions()
    .helpOption("-h, --help", "show help")
    .showHelpAfterError("(--help shows how it is used)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });

  program
    .command("serve")
    .summary("run the gateway")
    .description(
      "Run the gateway: devices connect to it, agents, apps and people use their tools through it.",
    )
    .option("--demo", "add virtual devices to play with; changes no policy")
    .option("--host <address>", "address to listen on (default 127.0.0.1)")
    .option("--port <number>", "port to listen on, 0 for any free one (default 8000)", wholeNumber)
    .option("--mqtt-port <number>", "port for MQTT, 0 for any free one (default 1883)", wholeNumber)
    .option("--data <folder>", "folder for what must survive a restart (default ./data)")
    .option("--config <file>", "settings file (default tendon.yaml here or in the data folder)")
    .option("--allow-open", "let unknown devices in although others can reach this address")
    .option("--json", "print one line of JSON when ready")
    .action(async (options) => (await import("./commands/serve.ts")).serve(options));

  gatewayCommand(program, "devices", "list the devices")
    .option("--online", "only those connected now")
    .option("--search <text>", "only those whose id, alias or board has this text")
    .action(async (options) => (await import("./commands/devices.ts")).devices(options));

  gatewayCommand(program, "tools", "list what a device can do")
    .argument("<device>", "id or alias")
    .option("--user", "also the tools that are for people only")
    .action(async (device, options) => (await import("./commands/tools.ts")).tools(device, options));

  gatewayCommand(program, "call", "call a device's tool and print its answer")
    .argument("<device>", "id or alias")
    .argument("<tool>", "the tool's name, such as self.audio_speaker.set_volume")
    .argument("[arguments...]", "key=value for each argument")
    .option("--args <json>", "all arguments as one JSON object")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 5s or 2m")
    .option("--output <file>", "write the picture or sound of the answer to a file")
    .action(async (device, tool, pairs, options) =>
      (await import("./commands/call.ts")).call(device, tool, pairs, options),
    );

  gatewayCommand(program, "calls", "list what was called, newest first")
    .option("--device <device>", "only of this device")
    .option("--tool <tool>", "only this tool")
    .option("--outcome <outcome>", "only these: ok, tool_error or an error's code")
    .option("--limit <number>", "how many", wholeNumber, 50)
    .action(async (options) => (await import("./commands/calls.ts")).calls(options));

  gatewayCommand(program, "control", "send a device_control action to a device")
    .argument("<device>", "id or alias")
    .argument("<action>", "set_volume, volume_up, volume_down, get_volume, mute, unmute, or one of your own")
    .argument("[fields...]", "key=value for each field of the action")
    .option("--timeout <duration>", "how long to wait, such as 500ms, 5s or 2m")
    .action(async (device, action, pairs, options) =>
      (await import("./commands/control.ts")).control(device, action, pairs, options),
    );

  gatewayCommand(program, "nodes", "list the nodes of the gateway and the engines they stand on").action(
    async (options) => (await import("./commands/nodes.ts")).nodes(options),
  );

  gatewayCommand(program, "watch", "print what happens, live")
    .option("--device <device>", "only of this device")
    .option("--type <types>", "only these types, separated by commas")
    .action(async (options) => (await import("./commands/watch.ts")).watch(options));

  gatewayCommand(program, "console", "print a link that opens the console and signs in, once").action(
    async (options) => (await import("./commands/console.ts")).consoleLink(options),
  );

  gatewayCommand(program, "voice", "list the conversations under way").action(async (options) =>
    (await import("./commands/voice.ts")).voice(options),
  );

  const simulate = program.command("simulate").description("Run devices that are not there.");
  gatewayOptions(simulate.command("esp32"))
    .description("Run virtual ESP32 devices. On a local gateway they provision themselves.")
    .addOption(new Option("--transport <name>", "how they connect (default ws)").choices(["ws", "mqtt"]))
    .option("--count <number>", "how many", wholeNumber, 1)
    .option(
      "--id <mac>",
      "id of the first one; the others follow (default 02:00:00:00:10:01; with --await-approval a new one)",
    )
    .option("--board <name>", "board name", "virtual-esp32")
    .option("--tools <file>", "more tools, from a YAML, JSON or JavaScript file")
    .option("--fault <name...>", "misbehave; `--fault list` explains each")
    .option(
      "--ota",
      "ask for their settings at every boot, as boards do, and take the firmware they are offered",
    )
    .option(
      "--await-approval",
      "start as boards from the factory: with a new Client-Id, show a code, wait for approval",
    )
    .option("--device-token <token>", "token for a backend given as ws:// or wss://")
    .option("--speak <pause>", "talk to a voice server: ask, and again so long after each answer, such as 5s")
    .action(async (options) => (await import("./commands/simulate.ts")).simulateEsp32(options));

  simulate
    .command("voice-server")
    .description("Run a scripted voice server: it hears nothing and answers every question with a chime.")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on, 0 for any free one", wholeNumber, 8001)
    .option("--require-token <token>", "let nobody in without it")
    .option("--packets <number>", "so many audio packets are a question", wholeNumber, 10)
    .option("--call-tool <name>", "a tool of the device to call before each answer")
    .option("--fault <name...>", "misbehave; `--fault list` explains each")
    .option("--json", "print JSON")
    .action(async (options) =>
      (await import("./commands/simulate-voice-server.ts")).simulateVoiceServer(options),
    );

  addHomeCommand(program);

  const device = program.command("device").description("Let devices in, rename, tag and forget them.");
  gatewayOptions(device.command("approve"))
    .description("Let a board in, by the code it shows or by its id.")
    .argument("<code|device>", "six digits, or the id of a board that waits")
    .action(async (name, options) =>
      (await import("./commands/device-admission.ts")).approveDevice(name, options),
    );
  gatewayOptions(device.command("pending"))
    .description("List the boards that show a code and wait.")
    .action(async (options) => (await import("./commands/device-admission.ts")).pendingDevices(options));
  gatewayOptions(device.command("revoke"))
    .description("Take a device's credentials away and disconnect it.")
    .argument("<device>", "id or alias")
    .action(async (name, options) =>
      (await import("./commands/device-admission.ts")).revokeDevice(name, options),
    );
  gatewayOptions(device.command("transport"))
    .description("Choose how a device is told to connect when it starts the next time.")
    .argument("<device>", "id or alias")
    .argument("<transport>", "mqtt, websocket, or default for the gateway's own setting")
    .action(async (name, transport, options) =>
      (await import("./commands/device-admission.ts")).setTransport(name, transport, options),
    );
  gatewayOptions(device.command("import"))
    .description("Put devices on the list of those that are let in when they come.")
    .argument("<file>", "CSV with a header (id, serial, hmac_key, tags), or a JSON object a line")
    .action(async (file, options) =>
      (await import("./commands/device-import.ts")).importDevices(file, options),
    );
  gatewayOptions(device.command("changes"))
    .description("Show the tools that are no longer what they were when they were first seen.")
    .argument("[device]", "id or alias; every device where it is left out")
    .action(async (name, options) =>
      (await import("./commands/device-changes.ts")).toolChanges(name, options),
    );
  gatewayOptions(device.command("accept"))
    .description("Accept a tool that has changed.")
    .argument("<device>", "id or alias")
    .argument("<tool>", "the tool's own name")
    .option("--digest <digest>", "only the tool with this digest, as `device changes` shows it")
    .action(async (name, tool, options) =>
      (await import("./commands/device-changes.ts")).acceptTool(name, tool, options),
    );
  gatewayOptions(device.command("rename"))
    .description("Give a device another alias; the old one keeps leading to it.")
    .argument("<device>", "id or alias")
    .argument("<alias>", "lower-case letters, digits and dashes, beginning with a letter")
    .action(async (name, alias, options) =>
      (await import("./commands/device.ts")).renameDevice(name, alias, options),
    );
  gatewayOptions(device.command("tag"))
    .description("Give a device these tags, and no others.")
    .argument("<device>", "id or alias")
    .argument("[tags...]", "none takes all away")
    .action(async (name, tags, options) =>
      (await import("./commands/device.ts")).tagDevice(name, tags, options),
    );
  gatewayOptions(device.command("delete"))
    .description("Forget a device and its credentials.")
    .argument("<device>", "id or alias")
    .action(async (name, options) => (await import("./commands/device.ts")).deleteDevice(name, options));

  const approvals = program.command("approvals").description("Decide about calls that wait for a person.");
  gatewayOptions(approvals.command("list", { isDefault: true }))
    .description("List the calls that wait.")
    .option("--all", "also those that were decided, used or have run out")
    .action(async (options) => (await import("./commands/approvals.ts")).listApprovals(options));
  for (const [word, description] of [
    ["approve", "Let a call through, once, within ten minutes. Never your own."],
    ["deny", "Do not let a call through."],
  ] as const) {
    gatewayOptions(approvals.command(word))
      .description(description)
      .argument("<id>", "the request's id")
      .action(async (id, options) =>
        (await import("./commands/approvals.ts")).decideApproval(id, word, options),
      );
  }

  const token = program.command("token").description("Make, list and revoke tokens.");
  gatewayOptions(token.command("create"))
    .description("Make a token; it is shown this once.")
    .argument("<name>", "who or what it is for")
    .option("--scope <scope...>", "read, call, call:user, provision, admin (default read call)")
    .option("--device <id...>", "only these devices")
    .option("--tag <tag...>", "only devices with these tags")
    .option("--expires <time>", "when it stops counting, such as 2027-01-31")
    .action(async (name, options) => (await import("./commands/token.ts")).createToken(name, options));
  gatewayOptions(token.command("list"))
    .description("List the tokens, without themselves.")
    .action(async (options) => (await import("./commands/token.ts")).listTokens(options));
  gatewayOptions(token.command("revoke"))
    .description("Revoke a token; what it has open is closed.")
    .argument("<id|name>", "the token's id, or a name that no other token has")
    .action(async (name, options) => (await import("./commands/token.ts")).revokeToken(name, options));

  const firmware = addFirmwareCommand(program, gatewayOptions);

  const config = program.command("config").description("Look at the settings.");
  for (const [name, description] of [
    ["check", "Say whether the gateway would start with the settings."],
    ["show", "Print the settings as they take effect, secrets hidden."],
  ] as const) {
    const command = config
      .command(name)
      .description(description)
      .option("--config <file>", "settings file (default tendon.yaml here or in the data folder)")
      .option("--data <folder>", "data folder (default ./data)")
      .option("--json", "print JSON")
      .action(async (options) => {
        const commands = await import("./commands/config.ts");
        await (name === "check" ? commands.checkConfig(options) : commands.showConfig(options));
      });
    if (name === "check") command.option("--allow-open", "as for a gateway that is started with it");
  }

  const bridge = "stdio MCP server for desktop clients: a bridge to the running gateway";
  placeOptions(described(program, "mcp", bridge), "one of its own, kept in DATA/mcp-token")
    .option("--flat", "list every device tool, however many there are")
    .option("--compact", "list no device tools, only those that find and call them")
    .option("--device <device>", "show one device alone, under its tools' short names")
    .action(async (options) => (await import("./commands/mcp.ts")).mcp(options));

  gatewayCommand(program, "doctor", "check this installation and print how to connect")
    .option("--config <file>", "settings file to check")
    .action(async (options) => (await import("./commands/doctor.ts")).doctor(options));

  // Subcommands inherit nothing by themselves; an unknown option must not end the process from inside commander.
  for (const command of [
    ...program.commands,
    ...simulate.commands,
    ...config.commands,
    ...token.commands,
    ...approvals.commands,
    ...device.commands,
    ...firmware.commands,
  ]) {
    command.exitOverride().showHelpAfterError("(--help shows how it is used)");
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
  const token = "DATA/admin-token, for the gateway of the data folder";
  return placeOptions(command, token).option("--json", "print JSON");
}

function placeOptions(command: Command, token: string): Command {
  return command
    .option("--url <url>", "the gateway (TENDON_URL; default: the one of the data folder)")
    .option("--token <token>", `the token (TENDON_TOKEN; default: ${token})`)
    .option("--data <folder>", "the gateway's data folder (TENDON_DATA; default ./data)");
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

/** Says what went wrong without a stack and gives the exit code: 1 it did not work, 2 wrong usage. */
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
  process.stderr.write(`tendon: this is a bug, please report it:\n${text}\n`);
  return 1;
}
