// A client of the simulated home: starts it, waits for `ready`, switches a light, reads it back, and sends `quit`.
//
//   node examples/home-client.mjs
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("../packages/cli/bin/tendon.js", import.meta.url));
const home = spawn(process.execPath, [command, "home", "--mcp", "--no-persist"], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: home.stdout })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const call = async (id, tool, args = {}) => {
  home.stdin.write(`${JSON.stringify({ type: "call", id, tool, args })}\n`);
  return await next();
};

const { tools } = await next();
console.log(`tools: ${tools.map(({ name }) => name).join(", ")}`);
assert.deepEqual(await call(1, "set_light_state", { name: "salon", on: true }), {
  type: "result",
  id: 1,
  ok: true,
  result: { ok: true },
});
assert.deepEqual((await call(2, "list_lights_on")).result, { on: ["salon"] });
assert.equal(
  (await call(3, "set_light_state", { name: "attic", on: true })).error,
  "Luz 'attic' no encontrada",
);
home.stdin.write('{"type":"quit"}\n');
home.once("exit", (code) => {
  assert.equal(code, 0);
  console.log("the light is on, and the home has gone");
});
