import { describe, expect, it, test } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { parseSettings } from "../../src/home/settings-text.ts";
import { MemoryStore, SimulatedHome } from "../../src/index.ts";
import { homeClient } from "./home-client.ts";

function homeWith(text: string, clock = new ManualClock()): SimulatedHome {
  const settings = parseSettings(text, "home.yaml");
  return new SimulatedHome({ settings, store: new MemoryStore(settings), clock });
}

const six = 6;

describe("features", () => {
  test.each([
    ["presence", ["set_presence", "get_presence_history"]],
    ["climate", ["get_climate", "set_thermostat"]],
    ["scenes", ["activate_scene", "list_scenes"]],
  ])("%s adds its tools after the six", (feature, tools) => {
    const home = homeWith(`features: [${feature}]`);
    expect(home.tools.slice(six).map(({ name }) => name)).toEqual(tools);
    for (const { description, input_schema, output_schema } of home.tools) {
      expect(description).not.toBe("");
      expect(input_schema.type).toBe("object");
      expect(Object.keys(output_schema.properties).length).toBeGreaterThan(0);
    }
  });

  it("that are not enabled add no tools", async () => {
    const home = homeWith("features: []");
    const client = await homeClient({ home });
    for (const tool of ["set_presence", "get_presence_history", "get_climate", "activate_scene"]) {
      expect(await client.call(tool)).toBe(`Tool '${tool}' no encontrada`);
    }
  });
});

describe("presence", () => {
  it("is set, and arrivals and departures are recorded, newest first", () => {
    const clock = new ManualClock();
    const home = homeWith("features: [presence]", clock);
    expect(home.call("set_presence", { people: ["Ana", "Luis", "Ana"] })).toEqual({ ok: true });
    expect(home.call("get_presence")).toEqual({ present: true, known_people: ["Ana", "Luis"] });
    clock.advance(60_000);
    home.call("set_presence", { people: ["Luis", "Eva"] });
    expect(home.call("get_presence_history")).toEqual({
      history: [
        { at: "2026-01-01T00:01:00.000Z", person: "Eva", event: "arrived" },
        { at: "2026-01-01T00:01:00.000Z", person: "Ana", event: "left" },
        { at: "2026-01-01T00:00:00.000Z", person: "Luis", event: "arrived" },
        { at: "2026-01-01T00:00:00.000Z", person: "Ana", event: "arrived" },
      ],
    });
    expect(home.call("get_presence_history", { limit: 1 })).toMatchObject({ history: [{ person: "Eva" }] });
    home.call("set_presence", { people: [] });
    expect(home.call("get_presence")).toEqual({ present: false, known_people: [] });
  });

  it("is recorded up to a limit, and not at all if it is not enabled", () => {
    const home = homeWith("features: [presence]");
    for (let round = 0; round < 150; round += 1) {
      home.call("set_presence", { people: ["Ana"] });
      home.call("set_presence", { people: [] });
    }
    expect(home.state.history).toHaveLength(200);
    const quiet = homeWith("");
    quiet.changePeople(() => ["Ana"]);
    expect(quiet.state.presence.present).toBe(true);
    expect(quiet.state.history).toEqual([]);
  });

  test.each([
    [{}, "Falta parámetro requerido: people"],
    [
      { people: "Ana" },
      "Parámetro inválido: 'people' debe ser una lista de hasta 100 nombres, se recibió \"Ana\"",
    ],
    [
      { people: [1] },
      "Parámetro inválido: 'people' debe ser una lista de hasta 100 nombres, se recibió una lista",
    ],
    [
      { people: [""] },
      "Parámetro inválido: 'people' debe ser una lista de hasta 100 nombres, se recibió una lista",
    ],
    [
      { people: ["a\nb"] },
      "Parámetro inválido: 'people' debe ser una lista de hasta 100 nombres, se recibió una lista",
    ],
  ])("rejects %j", (args, message) => {
    expect(() => homeWith("features: [presence]").call("set_presence", args)).toThrow(message);
  });

  test.each([0, 201, 1.5, "3"])("rejects a limit of %j", (limit) => {
    expect(() => homeWith("features: [presence]").call("get_presence_history", { limit })).toThrow(
      "Parámetro inválido: 'limit' debe ser un número entero de 1 a 200",
    );
  });
});

interface Climate {
  readonly temperature: number;
  readonly target: number;
  readonly heating: boolean;
}

describe("the climate", () => {
  const climate = (home: SimulatedHome) => home.call("get_climate") as Climate;

  it("follows the thermostat slowly, without jumps, and reaches it", () => {
    const clock = new ManualClock();
    const home = homeWith("features: [climate]\nclimate: { target: 18, minutes: 30 }", clock);
    expect(climate(home).temperature).toBeCloseTo(18, 0);
    home.call("set_thermostat", { target: 24 });
    let last = climate(home);
    expect(last).toMatchObject({ target: 24, heating: true });
    expect(Math.abs(last.temperature - 18)).toBeLessThanOrEqual(0.3);
    for (let minute = 0; minute < 30; minute += 1) {
      clock.advance(60_000);
      const now = climate(home);
      expect(Math.abs(now.temperature - last.temperature)).toBeLessThan(0.6);
      last = now;
    }
    expect(last.temperature).toBeGreaterThan(21);
    expect(last.temperature).toBeLessThan(22.6);
    // A new target continues from the current temperature.
    home.call("set_thermostat", { target: 10 });
    expect(Math.abs(climate(home).temperature - last.temperature)).toBeLessThanOrEqual(0.1);
    clock.advance(24 * 3_600_000);
    expect(Math.abs(climate(home).temperature - 10)).toBeLessThanOrEqual(0.3);
  });

  it("is the same for the same seed and time, and differs for another seed", () => {
    const day = (seed: number) => {
      const clock = new ManualClock();
      const home = homeWith(`features: [climate]\nclimate: { seed: ${seed} }`, clock);
      return Array.from({ length: 100 }, () => {
        clock.advance(600_000);
        return climate(home).temperature;
      });
    };
    expect(day(1)).toEqual(day(1));
    expect(day(1)).not.toEqual(day(2));
    expect(new Set(day(1)).size).toBeGreaterThan(2);
  });

  it("is part of the snapshot if it is enabled", () => {
    const home = homeWith("features: [climate]");
    expect(home.call("get_all_states")).toMatchObject({ alarm: false, climate: { target: 20 } });
    expect(home.tools[5]?.output_schema.properties).toHaveProperty("climate");
    expect(homeWith("").call("get_all_states")).not.toHaveProperty("climate");
  });

  test.each([4.9, 30.1, "20", true, Number.NaN])("rejects a target of %j", (target) => {
    expect(() => homeWith("features: [climate]").call("set_thermostat", { target })).toThrow(
      "Parámetro inválido: 'target' debe ser un número de 5 a 30",
    );
  });

  it("accepts the bounds and fractions", () => {
    const home = homeWith("features: [climate]");
    for (const target of [5, 30, 21.5]) {
      home.call("set_thermostat", { target });
      expect(climate(home).target).toBe(target);
    }
  });
});

describe("scenes", () => {
  const text = `
features: [scenes, climate]
scenes:
  noche: { lights: { salon: false, dormitorio: true }, alarm: true, thermostat: 17 }
  cine: { lights: { salon: false } }
`;

  it("change lights, alarm and thermostat at once, and nothing else", () => {
    const home = homeWith(text);
    home.call("set_light_state", { name: "salon", on: true });
    home.call("set_light_state", { name: "garage", on: true });
    expect(home.call("activate_scene", { name: "noche" })).toEqual({ ok: true });
    expect(home.call("list_lights_on")).toEqual({ on: ["dormitorio", "garage"] });
    expect(home.call("get_all_states")).toMatchObject({ alarm: true, climate: { target: 17 } });
    home.call("activate_scene", { name: "cine" });
    expect(home.state.alarm).toBe(true);
  });

  it("are listed in the order of the file", () => {
    expect(homeWith(text).call("list_scenes")).toEqual({
      scenes: [
        { name: "noche", lights: { salon: false, dormitorio: true }, alarm: true, thermostat: 17 },
        { name: "cine", lights: { salon: false } },
      ],
    });
  });

  it("that do not exist are reported like lights", () => {
    expect(() => homeWith(text).call("activate_scene", { name: "x" })).toThrow("Escena 'x' no encontrada");
    expect(() => homeWith(text).call("activate_scene", {})).toThrow("Falta parámetro requerido: name");
  });
});
