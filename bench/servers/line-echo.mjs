// The least a Node process on the event loop can do with a line: send it back.
process.stdin.on("data", (chunk) => process.stdout.write(chunk));
process.stdout.write("ready\n");
