import fs from "node:fs";
import path from "node:path";
import { describe, expect, it, test } from "vitest";
import { openHome, SimulatedHome, ToolsFileError } from "../../src/index.ts";
import { homeClient } from "./home-client.ts";
import { homeFolder } from "./home-folder.ts";

const gate = `
state: { gate: closed, gate_opened: 0, gate_locked: false }
tools:
  - name: set_gate
    description: Abre o cierra el portón
    properties: { position: { type: string } }
    returns: { set: gate, from: position }
  - name: count_gate
    properties: { times: { type: integer, minimum: 0, maximum: 100, default: 1 } }
    returns: { set: gate_opened }
  - { name: lock_gate, userOnly: true, returns: { set: gate_locked, to: true } }
  - { name: get_gate, returns: { get: gate } }
  - { name: gate_maker, returns: Acme }
  - { name: gate_data, returns: { value: { size: [3, 2], of: { steel: true } } } }
  - name: echo
    properties: { a: { type: integer }, b: { type: boolean, default: false } }
    returns: { echo: true }
  - { name: break_gate, returns: { error: "El motor no responde" } }
`;
const built = { lights: { salon: false }, alarm: false, presence: { present: false, known_people: [] } };
const files = { "home.yaml": "lights: [salon]\ntools: gate.yaml", "gate.yaml": gate };

describe("tools and state of a file", () => {
  it("are announced after the home's own, with schemas and the audience", async () => {
    const { home } = await openHome({ data: homeFolder(files) });
    const own = home.tools.slice(6);
    expect(own.map(({ name }) => name)).toEqual([
      "set_gate",
      "count_gate",
      "lock_gate",
      "get_gate",
      "gate_maker",
      "gate_data",
      "echo",
      "break_gate",
    ]);
    expect(own[0]).toEqual({
      name: "set_gate",
      description: "Abre o cierra el portón",
      input_schema: { type: "object", properties: { position: { type: "string" } }, required: ["position"] },
      output_schema: { type: "object", properties: { ok: { type: "boolean" } } },
    });
    expect(own[1]?.input_schema).toEqual({
      type: "object",
      properties: { times: { type: "integer", minimum: 0, maximum: 100, default: 1 } },
      required: [],
    });
    expect(own[2]?.annotations).toEqual({ audience: ["user"] });
    expect(own[3]?.output_schema.properties).toEqual({ gate: { type: "string" } });
    const all = home.tools.find(({ name }) => name === "get_all_states");
    expect(all?.output_schema.properties).toMatchObject({
      gate: { type: "string" },
      gate_opened: { type: "number" },
      gate_locked: { type: "boolean" },
    });
  });

  it("work as the file defines, and their state is a part of the whole", async () => {
    const { home } = await openHome({ data: homeFolder(files) });
    expect(home.call("get_all_states")).toEqual({
      ...built,
      gate: "closed",
      gate_opened: 0,
      gate_locked: false,
    });
    expect(home.call("set_gate", { position: "open" })).toEqual({ ok: true });
    expect(home.call("get_gate")).toEqual({ gate: "open" });
    expect(home.call("count_gate")).toEqual({ ok: true });
    expect(home.call("lock_gate")).toEqual({ ok: true });
    expect(home.call("gate_maker")).toEqual({ value: "Acme" });
    expect(home.call("gate_data")).toEqual({ size: [3, 2], of: { steel: true } });
    expect(home.call("echo", { a: 7 })).toEqual({ a: 7, b: false });
    expect(home.call("get_all_states")).toEqual({
      ...built,
      gate: "open",
      gate_opened: 1,
      gate_locked: true,
    });
  });

  it("check their arguments with the protocol's texts, and change nothing if one is wrong", async () => {
    const { home } = await openHome({ data: homeFolder(files) });
    const client = await homeClient({ home });
    expect(await client.call("set_gate")).toBe("Falta parámetro requerido: position");
    expect(await client.call("set_gate", { position: 1 })).toBe(
      "Parámetro inválido: 'position' debe ser un texto, se recibió 1",
    );
    expect(await client.call("count_gate", { times: 101 })).toBe(
      "Parámetro inválido: 'times' debe ser un número entero de 0 a 100, se recibió 101",
    );
    expect(await client.call("echo", { a: 2 ** 31 })).toMatch(/^Parámetro inválido: 'a' debe ser un número/);
    expect(await client.call("break_gate")).toBe("El motor no responde");
    expect(await client.call("get_gate")).toEqual({ gate: "closed" });
    client.server.stop();
  });

  it("keep their state over restarts, next to processes without the file", async () => {
    const data = homeFolder(files);
    (await openHome({ data })).home.call("set_gate", { position: "open" });
    const without = path.join(data, "plain.yaml");
    fs.writeFileSync(without, "lights: [salon]");
    const other = (await openHome({ data, settingsFile: without })).home;
    expect(other.call("get_all_states")).toEqual(built);
    other.call("set_light_state", { name: "salon", on: true });
    const { home } = await openHome({ data });
    expect(home.call("get_all_states")).toMatchObject({ lights: { salon: true }, gate: "open" });
  });

  it("start again where the file has another type than the kept state", async () => {
    const data = homeFolder(files);
    (await openHome({ data })).home.call("set_gate", { position: "open" });
    fs.writeFileSync(path.join(data, "gate.yaml"), "state: { gate: 100 }\ntools: []");
    const { home } = await openHome({ data });
    expect(home.call("get_all_states")).toEqual({ ...built, gate: 100 });
  });

  it("send an event for each change, by any process", async () => {
    const data = homeFolder(files);
    const { home, stateFile } = await openHome({ data });
    const client = await homeClient({ home, stateFile, events: true });
    const changed = (name: string, value: unknown) =>
      JSON.stringify({ type: "event", event: "state_changed", data: { name, value } });
    expect(await client.call("set_gate", { position: "open" })).toEqual({ ok: true });
    expect(await client.next()).toBe(changed("gate", "open"));
    expect(await client.call("set_gate", { position: "open" })).toEqual({ ok: true });
    (await openHome({ data })).home.call("count_gate", { times: 5 });
    expect(await client.next()).toBe(changed("gate_opened", 5));
    client.server.stop();
  });

  it("can be given instead of the file of the settings", async () => {
    const data = homeFolder({ "bell.json": '{"state":{"bell":0},"tools":[{"name":"ring"}]}' });
    const { home } = await openHome({ data, toolsFile: path.join(data, "bell.json") });
    expect(home.call("get_all_states")).toMatchObject({ bell: 0 });
    expect(home.call("ring")).toEqual({ value: true });
  });

  it("are none in a home without a file", () => {
    expect(new SimulatedHome().tools).toHaveLength(6);
  });

  test.each([
    ["tools: [", /gate\.yaml: .* at line 1/],
    ["state: { alarm: 1 }\ntools: []", /gate\.yaml: state\.alarm: the home has a state with this name/],
    ['state: { "a\\nb": 1 }\ntools: []', /the name must have 1 to 64 characters/],
    ["[{ name: set_thermostat }]", /tools\[0\] \(set_thermostat\): the home has a tool with this name/],
    ["[{ name: a }, { name: a }]", /tools\[1\] \(a\): tools\[0\] has the same name/],
    ["[{ name: a, delayMs: 5 }]", /tools\[0\] \(a\): delayMs: only boards have a delay/],
    ["[{ name: a, returns: { get: x } }]", /tools\[0\] \(a\): returns\.get: x is not in state; add it there/],
    ["[{ name: a, returns: { set: x, to: 1 } }]", /tools\[0\] \(a\): returns\.set: x is not in state/],
    [
      "state: { x: 1 }\ntools: [{ name: a, returns: { set: x, to: no } }]",
      /returns\.set: x starts as a number, so it cannot be set to a text/,
    ],
    [
      "state: { x: text }\ntools: [{ name: a, properties: { p: { type: boolean } }, returns: { set: x } }]",
      /returns\.set: x starts as a text, so it cannot be set to true or false/,
    ],
    [
      "[{ name: a, properties: { p: { type: integer, minimum: 1 } } }]",
      /tools\[0\] \(a\): properties\.p: give both/,
    ],
  ])("%j is rejected with a reason", async (text, reason) => {
    const data = homeFolder({ ...files, "gate.yaml": text });
    const opened = openHome({ data });
    await expect(opened).rejects.toThrow(reason);
    await expect(opened).rejects.toBeInstanceOf(ToolsFileError);
  });

  it("are rejected if the file is missing or of another kind", async () => {
    const data = homeFolder({ "home.yaml": "tools: none.yaml" });
    await expect(openHome({ data })).rejects.toThrow(/none\.yaml: there is no such file; check the path/);
    await expect(openHome({ data, toolsFile: "tools.mjs" })).rejects.toThrow(
      /tools\.mjs: a home's tools file must end in \.yaml, \.yml or \.json/,
    );
    fs.writeFileSync(path.join(data, "home.yaml"), "tools: [gate.yaml]");
    await expect(openHome({ data })).rejects.toThrow(
      /home\.yaml:1: `tools` must be the path of a tools file/,
    );
  });
});
