// A line-JSON program with a lamp, independent of the project. Arguments make it misbehave.
import readline from "node:readline";

const faults = new Set(process.argv.slice(2));
let on = false;

function say(message) {
  process.stdout.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
}

const tools = [
  {
    name: "lamp.set",
    description: "Switches the lamp.",
    input_schema: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
    output_schema: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
  },
  { name: "lamp.get", description: "Whether it is on.", input_schema: { type: "object", properties: {} } },
  { name: "fail", description: "Fails.", input_schema: { type: "object", properties: {} } },
  { name: "exit", description: "Ends the program.", input_schema: { type: "object", properties: {} } },
  { name: "hang", description: "Never answers.", input_schema: { type: "object", properties: {} } },
  { name: "text id", description: "Answers with its id as text.", input_schema: { type: "object" } },
  { name: "no result", description: "Answers without a result.", input_schema: { type: "object" } },
  { name: "prints", description: "Prints instead of answering.", input_schema: { type: "object" } },
  { name: "slow", description: "Answers late.", input_schema: { type: "object", properties: {} } },
  { name: "environment", description: "Its environment.", input_schema: { type: "object", properties: {} } },
  {
    name: "big",
    description: "Takes a big number.",
    input_schema: { type: "object", properties: { n: { type: "integer" } } },
  },
];

if (faults.has("rubbish")) {
  say("this is not JSON");
  say("[1,2,3]");
  say({ type: "weather", rain: true });
  say({ type: "result", id: 999, ok: true, result: 1 });
  process.stdout.write(`${"x".repeat(1_200_000)}\n`);
}
process.stderr.write("lamp program starts\n");
if (faults.has("exit-at-once")) process.exit(3);
if (faults.has("flood"))
  for (let count = 0; count < 30_000; count += 1) say({ type: "event", event: "tick", data: { count } });
if (!faults.has("never-ready")) say({ type: "ready", version: "1.2.3", tools });

const late = [];
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id, tool, args } = JSON.parse(line);
  if (type === "quit") {
    if (!faults.has("deaf")) process.exit(0);
    return;
  }
  switch (tool) {
    case "lamp.set":
      on = args.on;
      say({ type: "result", id, ok: true, result: { on } });
      say({ type: "event", event: "lamp_switched", data: { on } });
      break;
    case "lamp.get":
      say({ type: "result", id, ok: true, result: { on } });
      for (const answer of late.splice(0)) say(answer);
      break;
    case "fail":
      say({ type: "error", id, ok: false, error: "the bulb is broken" });
      break;
    case "exit":
      process.exit(7);
      break;
    case "text id":
      say({ type: "result", id: String(id), ok: true, result: 1 });
      break;
    case "no result":
      say({ type: "result", id, ok: true });
      break;
    case "prints":
      say("debug: reading the sensor");
      break;
    case "slow":
      late.push({ type: "result", id, ok: true, result: "at last" });
      break;
    case "environment":
      say({ type: "result", id, ok: true, result: process.env });
      break;
    case "big":
      say({ type: "result", id, ok: true, result: args });
      break;
    default:
  }
});
process.on("SIGTERM", () => {
  if (!faults.has("deaf")) process.exit(0);
});
