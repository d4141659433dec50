/** Mistakes in the file of `tendon simulate esp32 --tools`: one sentence and exit code 1, before a gateway is contacted. */
import fs from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run, start, startServe, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
afterAll(() => folder.remove());

/** No gateway listens there, so a command that contacts one fails with another message. */
const nowhere = "http://127.0.0.1:1";

async function simulate(file: string, text: string | undefined, ...more: string[]) {
  if (text !== undefined) fs.writeFileSync(path.join(cwd, file), text);
  return await run(["simulate", "esp32", "--tools", file, "--url", nowhere, ...more], { cwd });
}

const property = (fields: string) => `[{ name: self.lamp.set, properties: { level: { ${fields} } } }]`;
const set = "tools[0] (self.lamp.set): properties.level";

describe("tendon simulate esp32 --tools", () => {
  it.each<[name: string, file: string, text: string | undefined, message: string]>([
    ["a missing file", "none.yaml", undefined, "none.yaml: there is no such file; check the path"],
    ["a missing module", "none.mjs", undefined, "none.mjs: there is no such file; check the path"],
    [
      "another kind of file",
      "tools.txt",
      "[]",
      "tools.txt: a tools file must end in .yaml, .yml, .json, .js or .mjs",
    ],
    [
      "broken YAML",
      "a.yaml",
      "tools:\n  - { name: a",
      "a.yaml: Flow map in block collection must be sufficiently indented and end with a } at line 2, column 14",
    ],
    ["broken JSON", "a.json", '[{"name":', "a.json: Unexpected end of JSON input"],
    ["an empty file", "a.yaml", "", 'a.yaml: must be a list of tools or an object with "tools"'],
    ["a wrong key", "a.yaml", "tool: []", "a.yaml: tool: unknown key (known: state, tools)"],
    [
      "a wrong key of a tool",
      "a.yaml",
      "[{ name: self.lamp.set, args: {} }]",
      "a.yaml: tools[0] (self.lamp.set): args: unknown key (known: name, description, userOnly, properties, returns, delayMs)",
    ],
    [
      "a duplicate name",
      "a.yaml",
      "[{ name: self.lamp.on }, { name: self.lamp.on }]",
      "a.yaml: tools[1] (self.lamp.on): tools[0] has the same name; choose another one",
    ],
    [
      "a stock name",
      "a.yaml",
      "[{ name: self.lamp.on }, { name: self.reboot }]",
      "a.yaml: tools[1] (self.reboot): the stock firmware has a tool with this name; choose another one",
    ],
    [
      "a type that does not exist",
      "a.yaml",
      property("type: float"),
      `a.yaml: ${set}.type: must be boolean, integer or string`,
    ],
    [
      "half a range",
      "a.yaml",
      property("type: integer, minimum: 1"),
      `a.yaml: ${set}: give both minimum and maximum, or neither`,
    ],
    [
      "a range with its ends exchanged",
      "a.yaml",
      property("type: integer, minimum: 9, maximum: 1"),
      `a.yaml: ${set}: the minimum 9 is above the maximum 1`,
    ],
    [
      "a default outside the range",
      "a.yaml",
      property("type: integer, minimum: 0, maximum: 9, default: 10"),
      `a.yaml: ${set}: the default 10 is outside 0..9`,
    ],
    [
      "a number that is too large",
      "a.yaml",
      property("type: integer, default: 3000000000"),
      `a.yaml: ${set}: 3000000000 is not a 32-bit integer`,
    ],
    [
      "a state of the board with another type",
      "a.yaml",
      "state: { volume: loud }\ntools: [{ name: self.lamp.on }]",
      "a.yaml: state.volume: must be a number, because the board has this state already",
    ],
    [
      "a definition that fits on no page",
      "a.yaml",
      `[{ name: self.lamp.on, description: ${"x".repeat(8_000)} }]`,
      "a.yaml: tools[0] (self.lamp.on): the definition has 8088 bytes, and a page of tools/list has room for 7959; shorten the description",
    ],
    [
      "a duplicate name in a module",
      "a.mjs",
      "export const register = (device) => { for (const n of [1, 2]) device.addTool('self.lamp.on', '', {}, () => n); };",
      "a.mjs: tool self.lamp.on: there already is a tool with this name; choose another one",
    ],
    [
      "a mistake in the code of a module",
      "b.mjs",
      "export function register(device) { device.lamp.add(); }",
      "b.mjs: register(device) failed: Cannot read properties of undefined (reading 'add')",
    ],
  ])("exits with 1 and one sentence for %s", async (_, file, text, message) => {
    expect(await simulate(file, text)).toEqual({ code: 1, stdout: "", stderr: `tendon: ${message}\n` });
  });

  it("prints the mistake as JSON with --json", async () => {
    const { code, stdout } = await simulate("a.yaml", "[{ name: self.reboot }]", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      code: "tools_file_invalid",
      detail:
        "a.yaml: tools[0] (self.reboot): the stock firmware has a tool with this name; choose another one",
    });
  });

  it("calls a module's register once for each device and once for the check, which leaves no trace", async () => {
    const { process: gateway } = await startServe(cwd);
    fs.writeFileSync(
      path.join(cwd, "c.mjs"),
      "export function register(device) { device.addTool('self.lamp.on', '', {}, () => true); }",
    );
    const boards = start(["simulate", "esp32", "--count", "2", "--tools", "c.mjs"], { cwd });
    await boards.until("stderr", /2 of 2 connected/);
    const { stdout } = await run(["devices", "--json"], { cwd });
    expect((JSON.parse(stdout) as { devices: unknown[] }).devices).toHaveLength(2);
    await boards.end();
    await gateway.end();
  });
});
