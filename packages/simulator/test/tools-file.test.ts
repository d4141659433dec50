import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadToolsFile, VirtualDevice } from "../src/index.ts";

let folder: string;
let device: VirtualDevice;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tools-"));
  device = new VirtualDevice();
});

afterEach(async () => {
  await device.stop();
  await rm(folder, { recursive: true });
});

async function load(name: string, text: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, text);
  await (await loadToolsFile(path)).register(device);
}

async function call(name: string, args: object = {}): Promise<string> {
  const reply = device.waitFor("reply");
  device.receiveMcp(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  );
  const { result, error } = JSON.parse((await reply).payload.toString()) as {
    result?: { content: { text: string }[] };
    error?: { message: string };
  };
  return result?.content[0]?.text ?? `error: ${error?.message}`;
}

describe("tools from a file", () => {
  it("behave as the file defines", async () => {
    await load(
      "lamp.yaml",
      `
state: { lamp.level: 10 }
tools:
  - name: self.lamp.set
    description: Sets the lamp
    properties:
      level: { type: integer, minimum: 0, maximum: 100 }
    returns: { set: lamp.level }
  - { name: self.lamp.level, returns: { get: lamp.level } }
  - { name: self.lamp.off, userOnly: true, returns: { set: lamp.level, to: 0 } }
  - name: self.two
    properties: { a: { type: string, default: x }, b: { type: boolean } }
    returns: { echo: true }
  - name: self.one
    properties: { a: { type: string } }
    returns: { echo: a }
    delayMs: 1
  - { name: self.broken, returns: { error: 'the "motor" is stuck' } }
  - { name: self.fixed, returns: { value: { deep: [1, 2] } } }
  - { name: self.half, returns: 0.5 }
  - { name: self.nothing }
`,
    );
    expect(await call("self.lamp.level")).toBe("10");
    expect(await call("self.lamp.set", { level: 101 })).toBe("error: Value exceeds maximum allowed: 100");
    expect(await call("self.lamp.set", { level: 30 })).toBe("true");
    expect(await call("self.lamp.level")).toBe("30");
    expect(await call("self.lamp.off")).toBe("true");
    expect(device.state.get("lamp.level")).toBe(0);
    expect(await call("self.two", { b: true })).toBe('{"a":"x","b":true}');
    expect(await call("self.one", { a: "echo" })).toBe("echo");
    expect(await call("self.fixed")).toBe('{"deep":[1,2]}');
    expect(await call("self.half")).toBe("0.5");
    expect(await call("self.nothing")).toBe("true");
    const broken = device.waitFor("reply");
    device.receiveMcp('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"self.broken"}}');
    expect((await broken).payload.toString()).toContain('"message":"the "motor" is stuck"');
  });

  it("can be JSON or a module", async () => {
    await load("a.json", '[{"name":"self.json","returns":"yes"}]');
    await load(
      "b.mjs",
      'export function register(device) { device.addTool("self.module", "", {}, () => 7); }',
    );
    await load("c.js", 'module.exports = (device) => { device.addTool("self.common", "", {}, () => 8); };');
    expect(await call("self.json")).toBe("yes");
    expect(await call("self.module")).toBe("7");
    expect(await call("self.common")).toBe("8");
  });

  it.each([
    ["a.txt", "", /must end in \.yaml/],
    ["a.json", "[", /a\.json: .*JSON/],
    ["a.yaml", "a: [", /a\.yaml: /],
    ["a.yaml", "3", /must be a list of tools/],
    ["a.yaml", "tool: []", /a\.yaml: tool: unknown key \(known: state, tools\)/],
    ["a.yaml", "tools: 3", /tools: must be a list/],
    ["a.yaml", "state: { a: [] }\ntools: []", /state\.a: must be/],
    ["a.yaml", "[3]", /tools\[0\]: must be an object/],
    ["a.yaml", "[{ description: x }]", /tools\[0\]: name: must be a text/],
    ["a.yaml", "[{ name: t, args: {} }]", /tools\[0\] \(t\): args: unknown key/],
    ["a.yaml", "[{ name: t }, { name: t }]", /tools\[1\] \(t\): tools\[0\] has the same name/],
    ["a.yaml", "[{ name: t, delayMs: soon }]", /\(t\): delayMs: must be a number/],
    ["a.yaml", "[{ name: t, userOnly: 1 }]", /\(t\): userOnly: must be true or false/],
    ["a.yaml", "[{ name: t, properties: { p: { type: float } } }]", /\(t\): properties\.p\.type: must be/],
    [
      "a.yaml",
      "[{ name: t, properties: { p: { type: integer, minimum: a } } }]",
      /properties\.p\.minimum: must be a whole/,
    ],
    [
      "a.yaml",
      "[{ name: t, properties: { p: { type: boolean, default: 1 } } }]",
      /properties\.p\.default: must be true/,
    ],
    [
      "a.yaml",
      "[{ name: t, properties: { p: { type: string, minimum: 1 } } }]",
      /properties\.p: minimum: unknown key/,
    ],
    [
      "a.yaml",
      "[{ name: t, properties: { p: { type: integer, minimum: 1 } } }]",
      /a\.yaml: tools\[0\] \(t\): properties\.p: give both/,
    ],
    ["a.yaml", "[{ name: t, returns: { ech: true } }]", /\(t\): returns: must be a fixed value or one of/],
    ["a.yaml", "[{ name: t, returns: { echo: p } }]", /returns\.echo: must be true or the name/],
    ["a.yaml", "[{ name: t, returns: { set: k } }]", /returns\.from: must be the name of a property/],
    ["a.yaml", "[{ name: t, returns: { set: k, to: [] } }]", /returns\.to: must be/],
    ["a.yaml", "[{ name: t, returns: { get: 1 } }]", /returns\.get: must be a text/],
    ["a.mjs", "export const x = 1;", /must export a function register/],
    ["a.mjs", "export const = 1;", /a\.mjs: /],
  ])("%s with %j is rejected with a reason", async (name, text, reason) => {
    await expect(load(name, text)).rejects.toMatchObject({
      code: "tools_file_invalid",
      message: expect.stringMatching(reason) as string,
    });
  });

  it("from a missing file are rejected", async () => {
    await expect(loadToolsFile(join(folder, "none.yaml"))).rejects.toMatchObject({
      code: "tools_file_invalid",
    });
  });
});
