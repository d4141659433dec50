import fs from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { run, temporaryFolder } from "./run-tendon.ts";

const folder = temporaryFolder();
const cwd = folder.path;
afterAll(() => folder.remove());

const home = async (...args: string[]) => await run(["home", ...args], { cwd });
const casa = async (...args: string[]) => await run(["home", ...args], { cwd, env: { LANG: "es_AR.UTF-8" } });
const lights = ["salon", "cocina", "dormitorio", "bano", "garage"];

describe("tendon home", () => {
  it("writes default settings the first time and reports it on stderr", async () => {
    const first = await home("status");
    expect(first.stderr).toBe(
      `tendon: no settings found; wrote the defaults to ${path.join("data", "home.yaml")}\n`,
    );
    const second = await home("status");
    expect(second).toMatchObject({ code: 0, stderr: "", stdout: first.stdout });
    expect(second.stdout).toBe(
      [
        "Lights",
        ...lights.map((name) => `  ${name.padEnd(12)}off`),
        "Alarm       disarmed",
        "Presence    nobody is home",
        "",
      ].join("\n"),
    );
  });

  it("keeps its state between commands", async () => {
    expect(await home("lights", "on", "salon")).toMatchObject({
      code: 0,
      stdout: "salon     on\n",
      stderr: "",
    });
    expect((await home("lights", "list")).stdout).toMatch(/^salon\s+on\ncocina\s+off\n/);
    expect((await home("lights", "off", "salon", "--json")).stdout).toBe('{"name":"salon","on":false}\n');
    expect(JSON.parse((await home("lights", "list", "--json")).stdout)).toEqual({
      lights: Object.fromEntries(lights.map((name) => [name, false])),
    });
    expect((await home("alarm", "on")).stdout).toBe("Alarm: armed\n");
    expect(JSON.parse((await home("status", "--json")).stdout)).toMatchObject({ alarm: true });
    expect((await home("alarm", "off", "--json")).stdout).toBe('{"armed":false}\n');
  });

  it("shows and changes who is home", async () => {
    expect((await home("presence", "set", "Ana", "José")).stdout).toBe("Ana, José\n");
    expect((await home("presence", "add", "Eva", "Ana")).stdout).toBe("Ana, José, Eva\n");
    expect((await home("presence", "remove", "Ana", "Unknown")).stdout).toBe("José, Eva\n");
    expect((await home("presence", "show", "--json")).stdout).toBe(
      '{"present":true,"known_people":["José","Eva"]}\n',
    );
    expect((await home("presence", "clear")).stdout).toBe("nobody is home\n");
    expect(await home("presence", "set", "a\tb")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "tendon: a name must have 1 to 64 characters on one line, and at most 100 people can be home\n",
    });
  });

  it("exits with 1 and lists the lights when a light is unknown", async () => {
    expect(await home("lights", "on", "attic")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `tendon: unknown light \`attic\`; the lights are ${lights.join(", ")}\n`,
    });
    const json = await home("lights", "on", "attic", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: "light_unknown", name: "attic", known: lights });
  });

  it("prints Spanish texts when the locale is Spanish", async () => {
    expect((await casa("lights", "on", "bano")).stdout).toBe("bano      encendida\n");
    expect((await casa("status")).stdout).toMatch(
      /Luces\n.*\n.*\n.*\n {2}bano {8}encendida\n.*\nAlarma {6}desarmada\nPresencia {3}no hay nadie en casa\n/,
    );
    expect((await casa("lights", "on", "x")).stderr).toBe(
      `tendon: luz desconocida \`x\`; las luces son ${lights.join(", ")}\n`,
    );
    const english = await run(["home", "presence", "show"], { cwd, env: { LANG: "es_ES", LC_ALL: "C" } });
    expect(english.stdout).toBe("nobody is home\n");
    const estonian = await run(["home", "presence", "show"], { cwd, env: { LANG: "est_EE" } });
    expect(estonian.stdout).toBe("nobody is home\n");
  });

  test.each([
    [[]],
    [["bogus"]],
    [["lights"]],
    [["lights", "on"]],
    [["lights", "on", "a", "b"]],
    [["alarm", "maybe"]],
    [["presence", "set"]],
    [["status", "--bogus"]],
    [["thermostat", "warm"]],
    [["presence", "history", "--limit", "x"]],
  ])("exits with 2 and a hint for wrong usage: %j", async (args) => {
    const { code, stdout, stderr } = await home(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(stderr).not.toContain("    at ");
  });

  it("reads its folder from --data or TENDON_DATA, and its settings from --config", async () => {
    await home("lights", "on", "salon", "--data", "elsewhere");
    expect((await home("--data", "elsewhere", "lights", "list")).stdout).toMatch(/^salon\s+on/);
    const env = await run(["home", "lights", "list"], { cwd, env: { TENDON_DATA: "elsewhere" } });
    expect(env.stdout).toMatch(/^salon\s+on/);
    fs.writeFileSync(path.join(cwd, "my.yaml"), "lights: { door: true }");
    expect((await home("lights", "list", "--config", "my.yaml", "--no-persist")).stdout).toBe(
      "door      on\n",
    );
  });

  it("rejects a file of --config that does not exist, unless --init creates it", async () => {
    const args = ["status", "--config", "none.yaml", "--data", "elsewhere"];
    const missing =
      "tendon: none.yaml: does not exist; check the path, or add --init to create it with the defaults\n";
    expect(await home(...args)).toEqual({ code: 1, stdout: "", stderr: missing });
    expect(await home(...args, "--no-persist")).toEqual({ code: 1, stdout: "", stderr: missing });
    expect(await home("--mcp", "--config", "none.yaml")).toEqual({ code: 1, stdout: "", stderr: missing });
    expect((await casa(...args)).stderr).toMatch(/^tendon: none\.yaml: no existe; revisa la ruta/);
    expect(await home(...args, "--init", "--no-persist")).toMatchObject({ code: 2, stdout: "" });
    expect(fs.existsSync(path.join(cwd, "none.yaml"))).toBe(false);
    expect(await home(...args, "--init")).toMatchObject({
      code: 0,
      stderr: "tendon: no settings found; wrote the defaults to none.yaml\n",
    });
    expect(await home(...args)).toMatchObject({ code: 0, stderr: "" });
  });

  it("reports invalid settings in the user's language", async () => {
    fs.mkdirSync(path.join(cwd, "bad"));
    fs.writeFileSync(path.join(cwd, "bad", "home.yaml"), "lights: [a]\nalarma: true\nalarm_default: si\n");
    const { code, stderr } = await casa("status", "--data", "bad");
    expect(code).toBe(1);
    const file = path.join("bad", "home.yaml");
    expect(stderr).toContain(
      `${file}:2: \`alarma\` no es una opción; las opciones aquí son lights, alarm_default`,
    );
    expect(stderr).toContain(`${file}:3: \`alarm_default\` debe ser true o false`);
  });

  it("reports why a folder cannot be used", async () => {
    const { code, stderr } = await home("status", "--data", "my.yaml");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tendon: cannot write the home's state \(EEXIST/);
  });

  it("rejects a state of a newer version and does not change it", async () => {
    fs.mkdirSync(path.join(cwd, "newer"));
    fs.writeFileSync(path.join(cwd, "newer", "home.json"), '{"version":99}');
    const { code, stderr } = await home("alarm", "on", "--data", "newer");
    expect(code).toBe(1);
    expect(stderr).toContain("newer version");
    expect(fs.readFileSync(path.join(cwd, "newer", "home.json"), "utf8")).toBe('{"version":99}');
  });
});

describe("features of the simulated home", () => {
  const data = path.join(cwd, "more");
  const more = async (...args: string[]) => await home(...args, "--data", "more");

  it("are rejected until they are enabled", async () => {
    for (const args of [["climate"], ["thermostat", "20"], ["scene", "list"], ["presence", "history"]]) {
      const { code, stderr } = await home(...args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/feature not enabled: add `(climate|scenes|presence)` to `features` in data/);
    }
  });

  it("add climate, scenes and a presence history", async () => {
    fs.mkdirSync(data);
    fs.writeFileSync(
      path.join(data, "home.yaml"),
      "features: [presence, climate, scenes]\nscenes: { noche: { lights: { salon: true }, alarm: true, thermostat: 17 } }\n",
    );
    expect((await more("climate")).stdout).toMatch(
      /^(19\.[89]|20(\.[12])?) °C \(target 20 °C(, heating)?\)\n$/,
    );
    expect(JSON.parse((await more("thermostat", "25.5", "--json")).stdout)).toMatchObject({
      target: 25.5,
      heating: true,
    });
    expect(await more("thermostat", "40")).toMatchObject({
      code: 1,
      stderr: "tendon: the target must be a number from 5 to 30 °C\n",
    });
    expect((await more("scene", "list")).stdout).toBe("noche: salon on, Alarm armed, 17 °C\n");
    expect((await more("scene", "activate", "noche")).stdout).toBe("Scene noche is active.\n");
    expect((await more("status")).stdout).toMatch(
      /salon {7}on\n[\s\S]*Alarm {7}armed\n[\s\S]*Climate {5}\S+ °C \(target 17 °C\)\n/,
    );
    expect((await more("scene", "activate", "x")).stderr).toBe(
      "tendon: unknown scene `x`; the scenes are noche\n",
    );
    expect((await more("presence", "history")).stdout).toBe("No arrivals or departures yet.\n");
    await more("presence", "set", "Ana");
    await more("presence", "clear");
    expect((await more("presence", "history")).stdout).toMatch(/^\S+Z {2}Ana left\n\S+Z {2}Ana arrived\n$/);
    expect(JSON.parse((await more("presence", "history", "--limit", "1", "--json")).stdout)).toMatchObject({
      history: [{ person: "Ana", event: "left" }],
    });
    expect(await more("presence", "history", "--limit", "500")).toMatchObject({ code: 1 });
  });
});

describe("tools and state of one's own", () => {
  const own = async (...args: string[]) => await home(...args, "--data", "own");
  const gate = `
state: { gate: closed, visits_to_the_gate: 0 }
tools:
  - name: set_gate
    properties: { position: { type: string } }
    returns: { set: gate, from: position }
  - name: count_visits
    properties: { number: { type: integer, minimum: 0, maximum: 9 } }
    returns: { set: visits_to_the_gate, from: number }
  - { name: get_gate, returns: { get: gate } }
  - { name: break_gate, returns: { error: the motor is stuck } }
`;

  it("are used by hand like built-in ones", async () => {
    fs.mkdirSync(path.join(cwd, "own"));
    fs.writeFileSync(path.join(cwd, "own", "home.yaml"), "lights: [salon]\ntools: gate.yaml\n");
    fs.writeFileSync(path.join(cwd, "own", "gate.yaml"), gate);
    expect(await own("call", "set_gate", "position=5")).toEqual({
      code: 0,
      stdout: '{"ok":true}\n',
      stderr: "",
    });
    expect((await own("call", "get_gate")).stdout).toBe('{"gate":"5"}\n');
    expect((await own("call", "count_visits", "number=3")).stdout).toBe('{"ok":true}\n');
    expect((await own("status")).stdout).toBe(
      [
        "Lights",
        "  salon     off",
        "Alarm               disarmed",
        "Presence            nobody is home",
        "gate                5",
        "visits_to_the_gate  3",
        "",
      ].join("\n"),
    );
    expect(JSON.parse((await own("status", "--json")).stdout)).toMatchObject({
      gate: "5",
      visits_to_the_gate: 3,
    });
    expect((await own("call", "list_lights_on")).stdout).toBe('{"on":[]}\n');
  });

  it.each([
    [["count_visits", "number=10"], "the argument `number` must be a whole number from 0 to 9"],
    [["count_visits"], "the argument `number` is missing"],
    [["break_gate"], "the motor is stuck"],
    [["climb_gate"], "unknown tool `climb_gate`; the tools are get_presence, get_alarm_status,"],
    [["set_thermostat", "target=20"], "feature not enabled: add `climate` to `features`"],
  ])("report a rejected call: %j", async (args, text) => {
    const { code, stdout, stderr } = await own("call", ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`tendon: ${text}`);
  });

  it("can be given with --tools, and a mistake in the file is reported in one sentence", async () => {
    fs.writeFileSync(path.join(cwd, "bell.yaml"), "state: { bell: silent }\ntools: []");
    const { stdout } = await home("status", "--no-persist", "--tools", "bell.yaml");
    expect(stdout).toMatch(/^bell {8}silent$/m);
    fs.writeFileSync(path.join(cwd, "bell.yaml"), "[{ name: get_presence }]");
    expect(await home("--mcp", "--tools", "bell.yaml")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "tendon: bell.yaml: tools[0] (get_presence): the home has a tool with this name; choose another one\n",
    });
  });
});
