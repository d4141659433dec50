/** Arguments of `tendon simulate`. The implementation is loaded only when a subcommand runs. */
import { type Command, Option } from "commander";
import { gatewayOptions, wholeNumber } from "../command-options.ts";

export function addSimulateCommand(program: Command): Command {
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
    .action(async (options) => (await import("./simulate.ts")).simulateEsp32(options));

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
    .action(async (options) => (await import("./simulate-voice-server.ts")).simulateVoiceServer(options));
  simulate
    .command("endpoint-broker")
    .description("Run the MCP endpoint of a hosted voice agent, for agents.endpoints.")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on, 0 for any free one", wholeNumber, 8004)
    .option("--agent-token <token>", "the token in the address (default: a JWT for a year)")
    .option("--call-tool <name>", "tool to call when a server has listed it")
    .option("--args <json>", "arguments of that call, as JSON")
    .option("--fault <name...>", "simulate a fault; `--fault list` describes each")
    .option("--json", "print JSON")
    .action(async (options) => (await import("./simulate-endpoint.ts")).simulateBroker(options));

  simulate
    .command("mcp-pipe")
    .description("Run a tool provider such as mcp_pipe.py, with a calculator, against an MCP endpoint.")
    .argument("<url>", "address of the endpoint: ws://HOST:8000/mcp_endpoint/mcp/?token=TOKEN")
    .option("--name <name>", "name of the MCP server, from which the device gets its id", "Calculator")
    .option("--fault <name...>", "simulate a fault; `--fault list` describes each")
    .option("--json", "print JSON")
    .action(async (url, options) => (await import("./simulate-endpoint.ts")).simulatePipe(url, options));

  simulate
    .command("http-server")
    .description("Run a simulated MCP server over HTTP, for `tendon device add-http`.")
    .addOption(
      new Option(
        "--kind <name>",
        "sessions (2025-11-25), modern (2026-07-28), or espressif (numeric ids only, no stream)",
      )
        .choices(["sessions", "modern", "espressif"])
        .default("sessions"),
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on, 0 for any free one", wholeNumber, 8002)
    .option("--require-token <token>", "reject requests without this bearer token")
    .option("--fault <name...>", "simulate a fault; `--fault list` describes each")
    .option("--json", "print JSON")
    .action(async (options) => (await import("./simulate-http-server.ts")).simulateHttpServer(options));
  return simulate;
}
