/** The words of `tendon home`. What they do is loaded when one of them is used. */
import { type Command, InvalidArgumentError } from "commander";
import { UsageError } from "../errors.ts";
import type { PresenceChange } from "./home.ts";

const load = async () => await import("./home.ts");

export function addHomeCommand(program: Command): void {
  const home = program
    .command("home")
    // Its options are understood before and after any of its words.
    .enablePositionalOptions(false)
    .summary("the simulated home: JSON lines for programs, and by hand")
    .description(
      "A simulated home: lights, an alarm, who is there. Its state is in DATA/home.json, its settings in DATA/home.yaml.",
    )
    .option("--mcp [mode]", "speak the line protocol on stdin and stdout (mode: stdio)")
    .option("--events", "with --mcp: also send a line when something changes, whoever changed it")
    .option("--no-persist", "keep nothing: begin with the settings' defaults and write no file")
    .option("--data <folder>", "folder of home.yaml and home.json (TENDON_DATA; default ./data)")
    .option("--config <file>", "another settings file than DATA/home.yaml")
    .option("--json", "print JSON");
  home.action(async ({ mcp, ...options }) => {
    const [word] = home.args;
    if (word !== undefined)
      throw new UsageError(`\`tendon home\` has no command \`${word}\`; --help lists them`);
    if (mcp === undefined) home.help({ error: true });
    await (await import("./home-serve.ts")).serveHomeLines(mcp, options);
  });

  const options = () => home.opts();
  home
    .command("status")
    .description("Everything at a glance.")
    .action(async () => (await load()).homeStatus(options()));

  const lights = home.command("lights").description("The lights.");
  lights
    .command("list")
    .description("All lights, on or off.")
    .action(async () => (await load()).homeLights(options()));
  for (const word of ["on", "off"] as const) {
    lights
      .command(word)
      .description(`Switch a light ${word}.`)
      .argument("<name>", "the light's name")
      .action(async (name) => (await load()).homeLight(name, word === "on", options()));
  }

  const alarm = home.command("alarm").description("The alarm.");
  for (const [word, description] of [
    ["on", "Arm the alarm."],
    ["off", "Disarm the alarm."],
  ] as const) {
    alarm
      .command(word)
      .description(description)
      .action(async () => (await load()).homeAlarm(word === "on", options()));
  }

  addPresence(home.command("presence").description("Who is at home."), options);
  addMore(home, options);
  // Told by the action above: "too many arguments" would not say what is wrong. Last, because subcommands inherit it.
  home.allowExcessArguments(true);
}

function addPresence(presence: Command, options: () => object): void {
  presence
    .command("show")
    .description("Who is at home.")
    .action(async () => (await load()).homePresence(options()));
  const changes: readonly (readonly [PresenceChange, string])[] = [
    ["set", "These people are at home, and nobody else."],
    ["add", "These people have come."],
    ["remove", "These people have left."],
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
    .description("Nobody is at home.")
    .action(async () => (await load()).homePresenceChange("clear", [], options()));
  presence
    .command("history")
    .description("Who came and went, and when (feature: presence).")
    .option("--limit <number>", "how many at most", wholeNumber, 20)
    .action(async ({ limit }) => (await load()).homeHistory(limit, options()));
}

function addMore(home: Command, options: () => object): void {
  home
    .command("climate")
    .description("The room's temperature (feature: climate).")
    .action(async () => (await load()).homeClimate(options()));
  home
    .command("thermostat")
    .description("Set the thermostat, 5 to 30 °C (feature: climate).")
    .argument("<target>", "degrees Celsius")
    .action(async (target) => (await load()).homeThermostat(target, options()));
  const scene = home.command("scene").description("Scenes (feature: scenes).");
  scene
    .command("list")
    .description("The scenes and what each changes.")
    .action(async () => (await load()).homeScenes(options()));
  scene
    .command("activate")
    .description("Lights, alarm and thermostat at once.")
    .argument("<name>", "the scene's name")
    .action(async (name) => (await load()).homeScene(name, options()));
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}
