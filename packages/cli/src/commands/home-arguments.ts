/** Arguments of `tendon home`. The implementation is loaded only when a subcommand runs. */
import { type Command, InvalidArgumentError } from "commander";
import { UsageError } from "../errors.ts";
import type { PresenceChange } from "./home.ts";

const load = async () => await import("./home.ts");

export function addHomeCommand(program: Command): void {
  const home = program
    .command("home")
    // Options are accepted before and after each subcommand.
    .enablePositionalOptions(false)
    .summary("control the simulated home, by hand or as a JSON-lines server")
    .description(
      "A simulated home with lights, an alarm and presence. Its state is in DATA/home.json, its settings in DATA/home.yaml.",
    )
    .option("--mcp [mode]", "speak the line protocol on stdin and stdout (mode: stdio)")
    .option("--events", "with --mcp: also send a line for every change, including changes by other processes")
    .option("--no-persist", "start from the defaults of the settings and write no file")
    .option("--data <folder>", "folder of home.yaml and home.json (TENDON_DATA; default ./data)")
    .option("--config <file>", "settings file (default DATA/home.yaml)")
    .option("--init", "create the file of --config with the defaults if it does not exist")
    .option("--tools <file>", "tools and state of your own, from a YAML or JSON file")
    .option("--json", "print JSON");
  home.action(async ({ mcp, ...options }) => {
    const [word] = home.args;
    if (word !== undefined)
      throw new UsageError(`\`tendon home\` has no command \`${word}\`. Run it with --help for the list.`);
    if (mcp === undefined) home.help({ error: true });
    await (await import("./home-serve.ts")).serveHomeLines(mcp, options);
  });

  const options = () => home.opts();
  home
    .command("status")
    .description("Show the state of the home.")
    .action(async () => (await load()).homeStatus(options()));

  const lights = home.command("lights").description("List and switch the lights.");
  lights
    .command("list")
    .description("List the lights and their states.")
    .action(async () => (await load()).homeLights(options()));
  for (const word of ["on", "off"] as const) {
    lights
      .command(word)
      .description(`Switch a light ${word}.`)
      .argument("<name>", "the light's name")
      .action(async (name) => (await load()).homeLight(name, word === "on", options()));
  }

  const alarm = home.command("alarm").description("Arm or disarm the alarm.");
  for (const [word, description] of [
    ["on", "Arm the alarm."],
    ["off", "Disarm the alarm."],
  ] as const) {
    alarm
      .command(word)
      .description(description)
      .action(async () => (await load()).homeAlarm(word === "on", options()));
  }

  addPresence(home.command("presence").description("Show and change who is home."), options);
  addMore(home, options);
  // The action above reports unknown commands better than "too many arguments". Set last, because subcommands inherit it.
  home.allowExcessArguments(true);
}

function addPresence(presence: Command, options: () => object): void {
  presence
    .command("show")
    .description("Show who is home.")
    .action(async () => (await load()).homePresence(options()));
  const changes: readonly (readonly [PresenceChange, string])[] = [
    ["set", "Replace the people who are home."],
    ["add", "Add people who are home."],
    ["remove", "Remove people who are home."],
  ];
  for (const [word, description] of changes) {
    presence
      .command(word)
      .description(description)
      .argument("<names...>", "one or more names")
      .action(async (names) => (await load()).homePresenceChange(word, names, options()));
  }
  presence
    .command("clear")
    .description("Remove everyone.")
    .action(async () => (await load()).homePresenceChange("clear", [], options()));
  presence
    .command("history")
    .description("List arrivals and departures (feature: presence).")
    .option("--limit <number>", "maximum number of entries", wholeNumber, 20)
    .action(async ({ limit }) => (await load()).homeHistory(limit, options()));
}

function addMore(home: Command, options: () => object): void {
  home
    .command("climate")
    .description("Show the room temperature (feature: climate).")
    .action(async () => (await load()).homeClimate(options()));
  home
    .command("thermostat")
    .description("Set the thermostat, 5 to 30 °C (feature: climate).")
    .argument("<target>", "degrees Celsius")
    .action(async (target) => (await load()).homeThermostat(target, options()));
  home
    .command("call")
    .description("Call a tool by its name, also one of your own.")
    .argument("<tool>", "the tool's name")
    .argument("[arguments...]", "key=value for each argument")
    .action(async (tool, pairs) => (await load()).homeCall(tool, pairs, options()));
  const scene = home.command("scene").description("List and activate scenes (feature: scenes).");
  scene
    .command("list")
    .description("List the scenes and what each one changes.")
    .action(async () => (await load()).homeScenes(options()));
  scene
    .command("activate")
    .description("Activate a scene: lights, alarm and thermostat at once.")
    .argument("<name>", "the scene's name")
    .action(async (name) => (await load()).homeScene(name, options()));
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}
