import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { defaultSettings, FileStore, type HomeState, openHome, SimulatedHome } from "../../src/index.ts";
import { homeClient } from "./home-client.ts";
import { homeFolder } from "./home-folder.ts";

function storeIn(folder: string): FileStore {
  const store = new FileStore({ file: path.join(folder, "home.json"), settings: defaultSettings });
  onTestFinished(() => store.close());
  return store;
}

/** A process that was killed: its store is never closed. */
function killedStoreIn(folder: string): FileStore {
  return new FileStore({ file: path.join(folder, "home.json"), settings: defaultSettings });
}

const light =
  (name: string, on: boolean) =>
  (state: HomeState): HomeState =>
    state.lights[name] === on ? state : { ...state, lights: { ...state.lights, [name]: on } };

const people =
  (...names: string[]) =>
  (state: HomeState): HomeState => ({ ...state, presence: { present: true, known_people: names } });

const textIn = (folder: string) => fs.readFileSync(path.join(folder, "home.json"), "utf8");
const linesIn = (folder: string) => textIn(folder).trimEnd().split("\n");

// On other systems each change replaces the file.
describe.runIf(process.platform === "linux")("changes in a state file", () => {
  it("are appended without a new file, and become one line when the store is closed", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.change(light("salon", true));
    const { ino } = fs.statSync(path.join(folder, "home.json"));
    store.change(light("cocina", true));
    store.change((state) => ({ ...state, alarm: true }));
    expect(fs.statSync(path.join(folder, "home.json")).ino).toBe(ino);
    expect(linesIn(folder)).toHaveLength(3);
    expect(storeIn(folder).read()).toMatchObject({ alarm: true, lights: { salon: true, cocina: true } });
    store.close();
    expect(JSON.parse(textIn(folder))).toMatchObject({ alarm: true, lights: { salon: true, cocina: true } });
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("are there after a kill, whatever was appended last", () => {
    const folder = homeFolder();
    const killed = killedStoreIn(folder);
    killed.change(light("salon", true));
    killed.change(light("cocina", true));
    const whole = fs.readFileSync(path.join(folder, "home.json"));
    killed.change(people("José", "Ana"));
    const after = fs.readFileSync(path.join(folder, "home.json"));
    // The last line is cut at every byte, as by a kill in the middle of a write.
    for (let size = whole.length; size <= after.length; size += 1) {
      fs.writeFileSync(path.join(folder, "home.json"), after.subarray(0, size));
      const store = storeIn(folder);
      const expected = size === after.length ? ["José", "Ana"] : [];
      expect(store.read()).toMatchObject({
        lights: { salon: true, cocina: true },
        presence: { known_people: expected },
      });
      store.change(light("bano", true));
      expect(storeIn(folder).read()).toMatchObject({
        lights: { salon: true, cocina: true, bano: true },
        presence: { known_people: expected },
      });
      store.close();
      expect(linesIn(folder)).toHaveLength(1);
    }
  });

  it("ignore zeros after a power cut", () => {
    const folder = homeFolder();
    const killed = killedStoreIn(folder);
    killed.change(light("salon", true));
    killed.change(light("cocina", true));
    fs.appendFileSync(path.join(folder, "home.json"), Buffer.alloc(4096));
    const store = storeIn(folder);
    expect(store.read().lights).toMatchObject({ salon: true, cocina: true });
    store.change(light("bano", true));
    expect(storeIn(folder).read().lights).toMatchObject({ salon: true, cocina: true, bano: true });
  });

  it("are rewritten as one line when they are many", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.read();
    let longest = 0;
    const files = new Set<number>();
    for (let count = 1; count <= 5_000; count += 1) {
      store.change(light("salon", count % 2 === 1));
      const { ino, size } = fs.statSync(path.join(folder, "home.json"));
      longest = Math.max(longest, size);
      files.add(ino);
    }
    expect(longest).toBeLessThan(80 * 1024);
    expect(files.size).toBeGreaterThan(1);
    expect(storeIn(folder).read().lights["salon"]).toBe(false);
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("are kept when a process is killed between ending the file and replacing it", () => {
    const folder = homeFolder();
    const killed = killedStoreIn(folder);
    killed.change(light("salon", true));
    killed.change(light("cocina", true));
    const running = storeIn(folder);
    expect(running.read().lights["cocina"]).toBe(true);
    const { size } = fs.statSync(path.join(folder, "home.json"));
    fs.appendFileSync(path.join(folder, "home.json"), `{"at":${size},"end":true}\n`);
    // A line after the end never counts, even in its place.
    const at = fs.statSync(path.join(folder, "home.json")).size;
    fs.appendFileSync(path.join(folder, "home.json"), `{"at":${at},"set":{"alarm":true}}\n`);
    expect(running.read()).toMatchObject({ alarm: false, lights: { salon: true, cocina: true } });
    running.change(light("bano", true));
    expect(linesIn(folder)).toHaveLength(1);
    expect(storeIn(folder).read()).toMatchObject({
      alarm: false,
      lights: { salon: true, cocina: true, bano: true },
    });
  });

  it("are made again when another process was faster, and count once", () => {
    const folder = homeFolder();
    const one = storeIn(folder);
    const two = storeIn(folder);
    one.change(light("salon", true));
    let turn = 0;
    const state = one.change((before) => {
      turn += 1;
      if (turn === 1) two.change(people("Ana"));
      return people(...before.presence.known_people, "Luis")(before);
    });
    expect(turn).toBe(2);
    expect(state.presence.known_people).toEqual(["Ana", "Luis"]);
    for (const store of [one, two, storeIn(folder)])
      expect(store.read().presence.known_people).toEqual(["Ana", "Luis"]);
  });

  it("are made again when another process replaced the file", () => {
    const folder = homeFolder();
    const one = storeIn(folder);
    const two = storeIn(folder);
    one.change(light("salon", true));
    let turn = 0;
    one.change((before) => {
      turn += 1;
      if (turn === 1) {
        two.change(people("Ana"));
        two.tidy();
      }
      return people(...before.presence.known_people, "Luis")(before);
    });
    for (const store of [one, two, storeIn(folder)])
      expect(store.read()).toMatchObject({
        lights: { salon: true },
        presence: { known_people: ["Ana", "Luis"] },
      });
  });

  it("of calls that arrived together run again together when another process was faster", async () => {
    const folder = homeFolder();
    const one = storeIn(folder);
    const two = storeIn(folder);
    one.change(light("salon", true));
    let turn = 0;
    const seen: string[][] = [];
    one.together(() => {
      turn += 1;
      one.change((before) => people(...before.presence.known_people, "Luis")(before));
      if (turn === 1) two.change(people("Ana"));
      one.change((before) => people(...before.presence.known_people, "Eva")(before));
      seen.push([...one.read().presence.known_people]);
    });
    expect(seen).toEqual([
      ["Luis", "Eva"],
      ["Ana", "Luis", "Eva"],
    ]);
    expect(two.read().presence.known_people).toEqual(["Ana", "Luis", "Eva"]);
  });

  it("of several processes are the same for all, in any order, with kills and rewrites in between", () => {
    const names = [...defaultSettings.lights.keys()];
    const step = fc.oneof(
      fc.record({ who: fc.nat(2), name: fc.constantFrom(...names), on: fc.boolean() }),
      fc.record({ who: fc.nat(2), does: fc.constantFrom("tidy", "close", "kill", "tear") }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const folder = homeFolder();
        const stores = [0, 1, 2].map(() => killedStoreIn(folder));
        const expected = Object.fromEntries(defaultSettings.lights);
        for (const made of steps) {
          if ("on" in made) {
            stores[made.who]?.change(light(made.name, made.on));
            expected[made.name] = made.on;
          } else if (made.does === "tear") {
            if (fs.existsSync(path.join(folder, "home.json")))
              fs.appendFileSync(path.join(folder, "home.json"), '{"at":12,"set":{"lig');
          } else {
            if (made.does === "tidy") stores[made.who]?.tidy();
            if (made.does === "close") stores[made.who]?.close();
            if (made.does !== "tidy") stores[made.who] = killedStoreIn(folder);
          }
          for (const store of stores) expect(store.read().lights).toEqual(expected);
        }
        for (const store of stores) store.close();
        fs.rmSync(folder, { recursive: true });
      }),
      { numRuns: 60 },
    );
  });

  it("of every feature and of tools of one's own are the same after a restart", async () => {
    const tools = {
      state: { gate: "closed", level: 1, open: false },
      tools: ["gate", "level", "open"].map((key) => ({
        name: `set_${key}`,
        description: key,
        properties: {
          value: { type: key === "gate" ? "string" : key === "level" ? "integer" : "boolean" },
        },
        returns: { set: key, from: "value" },
      })),
    };
    const folder = homeFolder({
      "home.yaml":
        "features: [presence, climate, scenes]\ntools: own.json\nscenes: { noche: { alarm: true, thermostat: 17, lights: { salon: true } } }\n",
      "own.json": JSON.stringify(tools),
    });
    const { home } = await openHome({ data: folder });
    const calls: readonly (readonly [string, Record<string, unknown>])[] = [
      ["set_light_state", { name: "salon", on: true }],
      ["set_presence", { people: ["Ana", "José"] }],
      ["set_presence", { people: ["José"] }],
      ["set_thermostat", { target: 23.5 }],
      ["activate_scene", { name: "noche" }],
      ["set_gate", { value: "open" }],
      ["set_level", { value: 7 }],
      ["set_open", { value: true }],
      ["set_presence", { people: [] }],
    ];
    for (const [tool, args] of calls) {
      home.call(tool, args);
      const { home: next } = await openHome({ data: folder });
      expect(next.state).toEqual(home.state);
    }
    expect(linesIn(folder)).toHaveLength(calls.length);
    home.close();
    const { home: last } = await openHome({ data: folder });
    expect(last.state).toEqual(home.lastState);
    expect(linesIn(folder)).toHaveLength(1);
  });

  it("replace a file that cannot be appended to", () => {
    const folder = homeFolder();
    storeIn(folder).change(light("salon", true));
    const file = path.join(folder, "home.json");
    const text = textIn(folder);
    for (const edited of [JSON.stringify(JSON.parse(text), null, 2), text.trimEnd(), `\n${text}`]) {
      fs.writeFileSync(file, edited);
      const store = storeIn(folder);
      expect(store.read().lights["salon"]).toBe(true);
      store.change(light("cocina", true));
      expect(JSON.parse(textIn(folder))).toMatchObject({ lights: { salon: true, cocina: true } });
      expect(linesIn(folder)).toHaveLength(1);
    }
  });

  it("keep a light whose name is special in JavaScript", () => {
    const folder = homeFolder();
    const names = ["__proto__", "constructor", "toString"];
    const lights = new Map(names.map((name) => [name, false]));
    const open = () =>
      new FileStore({ file: path.join(folder, "home.json"), settings: { ...defaultSettings, lights } });
    const home = new SimulatedHome({ settings: { ...defaultSettings, lights }, store: open() });
    for (const name of names) home.call("set_light_state", { name, on: true });
    expect(linesIn(folder)).toHaveLength(3);
    expect(Object.entries(open().read().lights)).toEqual(names.map((name) => [name, true]));
  });

  it("of an idle client become one line after a second", async () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    const timers: (() => void)[] = [];
    const clock = {
      now: () => 0,
      after: (_: number, task: () => void) => {
        timers.push(task);
        return { cancel: () => undefined };
      },
    };
    const client = await homeClient({ home: new SimulatedHome({ store }), clock });
    const call = async (name: string) => {
      client.send(
        `{"type":"call","id":1,"tool":"set_light_state","args":{"name":${JSON.stringify(name)},"on":true}}`,
      );
      expect(await client.next()).toContain('"ok":true');
    };
    for (const name of ["salon", "cocina", "bano"]) await call(name);
    expect(linesIn(folder)).toHaveLength(3);
    expect(timers).toHaveLength(1);
    timers.shift()?.();
    // It was busy since the timer was set.
    expect(linesIn(folder)).toHaveLength(3);
    timers.shift()?.();
    expect(linesIn(folder)).toHaveLength(1);
    await call("garage");
    expect(storeIn(folder).read().lights).toMatchObject({ salon: true, garage: true });
  });
});
