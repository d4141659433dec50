// The least a Node process can do to keep a line before it answers: append it to a file.
import fs from "node:fs";

const file = fs.openSync("lines.log", "a");
process.stdin.on("data", (chunk) => {
  fs.writeSync(file, chunk);
  process.stdout.write(chunk);
});
process.stdout.write("ready\n");
