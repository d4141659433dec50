// A program that misbehaves in the way that its argument names, independent of the project.
import { spawn } from "node:child_process";
import readline from "node:readline";

const [fault, file] = process.argv.slice(2);
const tools = [{ name: "a", description: "Answers.", input_schema: { type: "object", properties: {} } }];

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Writes for ever, as fast as the reader takes it. */
function pour(stream, text) {
  const more = () => {
    while (stream.write(text));
  };
  stream.on("drain", more);
  more();
}

if (fault === "grandchild") {
  // It holds the pipes open for an hour, and writes its id for the test.
  const script = `require("node:fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setTimeout(() => 0, 3_600_000)`;
  spawn(process.execPath, ["-e", script], { stdio: "inherit" });
}

say({ type: "ready", version: "1", tools });

if (fault === "stderr") pour(process.stderr, `${"noise ".repeat(20)}\n`.repeat(100));
if (fault === "events")
  pour(process.stdout, `${JSON.stringify({ type: "event", event: "tick" })}\n`.repeat(100));
if (fault === "lists") {
  let round = 0;
  setInterval(() => {
    round += 1;
    say({ type: "ready", version: "1", tools: [...tools, { ...tools[0], name: `b${round}` }] });
  }, 5);
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id } = JSON.parse(line);
  if (type === "quit") process.exit(0);
  if (fault === "grandchild") process.exit(1);
  say({ type: "result", id, ok: true, result: {} });
});
