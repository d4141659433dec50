import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, test } from "vitest";
import {
  defaultSettings,
  FileStore,
  type FileStoreOptions,
  type HomeState,
  SimulatedHome,
} from "../../src/index.ts";
import { homeClient } from "./home-client.ts";
import { homeFolder } from "./home-folder.ts";

function storeIn(folder: string, options: Partial<FileStoreOptions> = {}): FileStore {
  const store = new FileStore({
    file: path.join(folder, "home.json"),
    settings: defaultSettings,
    ...options,
  });
  onTestFinished(() => store.close());
  return store;
}

const light =
  (name: string, on: boolean) =>
  (state: HomeState): HomeState =>
    state.lights[name] === on ? state : { ...state, lights: { ...state.lights, [name]: on } };

describe("a state in a file", () => {
  it("is visible to the next process, and at once to a running one", () => {
    const folder = homeFolder();
    const one = storeIn(folder);
    const two = storeIn(folder);
    expect(two.read().lights["salon"]).toBe(false);
    one.change(light("salon", true));
    expect(two.read().lights["salon"]).toBe(true);
    two.change(light("cocina", true));
    expect(one.read().lights).toMatchObject({ salon: true, cocina: true });
    expect(storeIn(folder).read().lights).toMatchObject({ salon: true, cocina: true });
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("is complete and current for every process after each change", () => {
    const names = [...defaultSettings.lights.keys()];
    const step = fc.tuple(fc.nat(2), fc.constantFrom(...names), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-home-"));
        const stores = [0, 1, 2].map(() => storeIn(folder));
        const expected = Object.fromEntries(defaultSettings.lights);
        for (const [who, name, on] of steps) {
          stores[who]?.change(light(name, on));
          expected[name] = on;
          // A new file with the inode, time and size of an old one must not be mistaken for it.
          for (const store of stores) expect(store.read().lights).toEqual(expected);
        }
        for (const store of stores) store.close();
        fs.rmSync(folder, { recursive: true });
      }),
      { numRuns: 30 },
    );
  });

  it("is not read again while it is unchanged, and not written without changes", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.change(light("salon", false));
    expect(fs.readdirSync(folder)).toEqual([]);
    const changed = store.change(light("salon", true));
    const { ino } = fs.statSync(path.join(folder, "home.json"));
    expect(store.read()).toBe(changed);
    expect(store.change(light("salon", true))).toBe(changed);
    expect(fs.statSync(path.join(folder, "home.json")).ino).toBe(ino);
  });

  it("can be edited, replaced or removed by hand", () => {
    const folder = homeFolder();
    const file = path.join(folder, "home.json");
    const store = storeIn(folder);
    store.change(light("salon", true));
    const text = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, text.replace('"alarm":false', '"alarm": true'));
    expect(store.read().alarm).toBe(true);
    fs.writeFileSync(`${file}.new`, text.replace('"cocina":false', '"cocina":true'));
    fs.renameSync(`${file}.new`, file);
    expect(store.read()).toMatchObject({ alarm: false, lights: { salon: true, cocina: true } });
    fs.rmSync(file);
    expect(store.read().lights).toEqual(Object.fromEntries(defaultSettings.lights));
  });

  it("keeps lights that are only in another process's settings", () => {
    const folder = homeFolder();
    const more = { ...defaultSettings, lights: new Map([...defaultSettings.lights, ["attic", false]]) };
    const newer = storeIn(folder, { settings: more });
    const older = storeIn(folder);
    newer.change(light("attic", true));
    older.change(light("salon", true));
    expect(older.read().lights).not.toHaveProperty("attic");
    expect(newer.read().lights).toMatchObject({ attic: true, salon: true });
  });

  it("is unchanged when a change fails", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.change(light("salon", true));
    const text = fs.readFileSync(path.join(folder, "home.json"), "utf8");
    const fail = () => {
      throw new TypeError("in the middle");
    };
    expect(() => store.change(fail)).toThrow("in the middle");
    expect(fs.readFileSync(path.join(folder, "home.json"), "utf8")).toBe(text);
    // A person wrote the file in several lines. It is replaced under the lock, and the change runs again there.
    const edited = JSON.stringify(JSON.parse(text), null, 2);
    fs.writeFileSync(path.join(folder, "home.json"), edited);
    let calls = 0;
    expect(() =>
      store.change((state) => {
        calls += 1;
        return calls === 2 ? fail() : light("salon", false)(state);
      }),
    ).toThrow("in the middle");
    expect(fs.readFileSync(path.join(folder, "home.json"), "utf8")).toBe(edited);
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });
});

describe("changes written together", () => {
  it("are in the file after the last one, not before, and no other process changes it in between", () => {
    const folder = homeFolder();
    const one = storeIn(folder);
    const two = storeIn(folder, { lock: { patienceMs: 5, abandonedMs: 10_000 } });
    one.together(() => {
      one.change(light("salon", true));
      one.change(light("cocina", true));
      expect(one.read().lights).toMatchObject({ salon: true, cocina: true });
      expect(fs.readdirSync(folder)).toEqual(["home.json.lock"]);
      expect(two.read().lights["salon"]).toBe(false);
    });
    expect(two.read().lights).toMatchObject({ salon: true, cocina: true });
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("need no lock without changes, and have no effect if one fails", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.together(() => store.change(light("salon", false)));
    expect(fs.readdirSync(folder)).toEqual([]);
    expect(() =>
      store.together(() => {
        store.change(light("salon", true));
        throw new TypeError("in the middle");
      }),
    ).toThrow("in the middle");
    expect(store.last().lights["salon"]).toBe(false);
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it("that cannot be written are rejected one by one, and reads return the stored state", async () => {
    const store = storeIn(homeFolder(), { lock: { patienceMs: 30, abandonedMs: 0 } });
    const client = await homeClient({ home: new SimulatedHome({ store }), events: true });
    const busy = "El estado de la casa está ocupado por otro proceso";
    client.send(
      '{"type":"call","id":1,"tool":"set_light_state","args":{"name":"salon","on":true}}',
      '{"type":"call","id":2,"tool":"list_lights_on"}',
      '{"type":"call","id":3,"tool":"set_alarm_state","args":{"armed":true}}',
      '{"type":"quit"}',
    );
    expect(await client.next()).toBe(`{"type":"error","id":1,"ok":false,"error":"${busy}"}`);
    expect(await client.next()).toBe('{"type":"result","id":2,"ok":true,"result":{"on":[]}}');
    expect(await client.next()).toBe(`{"type":"error","id":3,"ok":false,"error":"${busy}"}`);
    expect(await client.server.ended).toBe("quit");
    expect(client.output.read()).toBeNull();
  });
});

describe("an invalid state file", () => {
  test.each([
    ["empty", ""],
    ["cut off", '{"version":1,"lights":{"salon":tr'],
    ["a list", "[]"],
    ["of another program", '{"name":"x"}'],
    [
      "with a light that is text",
      '{"version":1,"lights":{"salon":"on"},"alarm":false,"presence":{"present":false,"known_people":[]}}',
    ],
    [
      "with people who are numbers",
      '{"version":1,"lights":{},"alarm":false,"presence":{"present":false,"known_people":[1]}}',
    ],
    [
      "with a temperature beyond reason",
      '{"version":1,"lights":{},"alarm":false,"presence":{"present":false,"known_people":[]},"climate":{"target":900,"from":20,"at":1}}',
    ],
    [
      "with a history that is none",
      '{"version":1,"lights":{},"alarm":false,"presence":{"present":false,"known_people":[]},"history":[{}]}',
    ],
  ])("%s: is renamed and reported, and the home starts with the defaults", (_, text) => {
    const folder = homeFolder({ "home.json": text, "home.json.broken": "an older one" });
    const told: string[] = [];
    const store = storeIn(folder, { putAside: (backup) => told.push(backup) });
    expect(store.read().lights).toEqual(Object.fromEntries(defaultSettings.lights));
    expect(told).toEqual([path.join(folder, "home.json.broken-2")]);
    expect(fs.readFileSync(path.join(folder, "home.json.broken-2"), "utf8")).toBe(text);
    store.change(light("salon", true));
    expect(storeIn(folder).read().lights["salon"]).toBe(true);
    expect(told).toHaveLength(1);
  });

  it("is renamed by a change too", () => {
    const folder = homeFolder();
    const store = storeIn(folder);
    store.change(light("salon", true));
    fs.writeFileSync(path.join(folder, "home.json"), "{");
    store.change(light("cocina", true));
    expect(store.read().lights).toMatchObject({ salon: false, cocina: true });
  });

  it("of a newer version is rejected and not changed", () => {
    const text = '{"version":2}';
    const folder = homeFolder({ "home.json": text });
    const store = storeIn(folder);
    expect(() => store.read()).toThrow(expect.objectContaining({ code: "state_newer" }));
    expect(() => store.change(light("salon", true))).toThrow(
      expect.objectContaining({ code: "state_newer" }),
    );
    expect(fs.readFileSync(path.join(folder, "home.json"), "utf8")).toBe(text);
  });

  it("is reported when it is a folder, and works again once the folder is removed", () => {
    const folder = homeFolder();
    fs.mkdirSync(path.join(folder, "home.json"));
    const store = storeIn(folder);
    expect(() => store.read()).toThrow(expect.objectContaining({ code: "state_unreadable" }));
    fs.rmdirSync(path.join(folder, "home.json"));
    expect(store.read().alarm).toBe(false);
  });

  it("cannot be written in a missing folder", () => {
    const store = storeIn(path.join(homeFolder(), "missing"));
    expect(store.read().alarm).toBe(false);
    expect(() => store.change(light("salon", true))).toThrow(
      expect.objectContaining({ code: "state_unwritable" }),
    );
  });
});

describe("the lock", () => {
  const host = os.hostname();
  const gone = () => spawnSync(process.execPath, ["-e", ""]).pid;
  const impatient = { patienceMs: 30, abandonedMs: 10_000 };

  it("of a dead process is taken over, and its files are removed", () => {
    const pid = gone();
    const folder = homeFolder({ [`home.json.${pid}.tmp`]: "{ha" });
    fs.symlinkSync(`${pid}.0@${host}`, path.join(folder, "home.json.lock"));
    storeIn(folder, { lock: impatient }).change(light("salon", true));
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("can be a file where symbolic links are not supported", () => {
    const folder = homeFolder({ "home.json.lock": `${gone()}.0@${host}` });
    storeIn(folder, { lock: impatient }).change(light("salon", true));
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("of an earlier run with the same process id is taken over", () => {
    const folder = homeFolder();
    fs.symlinkSync(`${process.pid}.${threadOf()}@${host}`, path.join(folder, "home.json.lock"));
    storeIn(folder, { lock: impatient }).change(light("salon", true));
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  test.each([`${process.ppid}.0@${os.hostname()}`, "1.0@other-host", "nonsense"])(
    "of %s is waited for, then told, and taken over when it is old",
    (owner) => {
      const folder = homeFolder();
      const lock = path.join(folder, "home.json.lock");
      fs.symlinkSync(owner, lock);
      const store = storeIn(folder, { lock: impatient });
      expect(() => store.change(light("salon", true))).toThrow(
        expect.objectContaining({ code: "state_locked" }),
      );
      expect(store.read().lights["salon"]).toBe(false);
      fs.lutimesSync(lock, 0, 0);
      expect(store.change(light("salon", true)).lights["salon"]).toBe(true);
      expect(fs.readdirSync(folder)).toEqual(["home.json"]);
    },
  );

  it("is not taken over while another process does, unless that process died too", () => {
    const folder = homeFolder();
    const pid = gone();
    fs.symlinkSync(`${pid}.0@${host}`, path.join(folder, "home.json.lock"));
    fs.symlinkSync(`${process.ppid}.0@${host}`, path.join(folder, "home.json.lock.orphan"));
    const store = storeIn(folder, { lock: impatient });
    expect(() => store.change(light("salon", true))).toThrow(
      expect.objectContaining({ code: "state_locked" }),
    );
    fs.rmSync(path.join(folder, "home.json.lock.orphan"));
    fs.symlinkSync(`${pid}.0@${host}`, path.join(folder, "home.json.lock.orphan"));
    store.change(light("salon", true));
    expect(fs.readdirSync(folder)).toEqual(["home.json"]);
  });

  it("that was held for too long discards its change", () => {
    const folder = homeFolder();
    const store = storeIn(folder, { lock: { patienceMs: 30, abandonedMs: 0 } });
    expect(() => store.change(light("salon", true))).toThrow(
      expect.objectContaining({ code: "state_locked" }),
    );
    expect(fs.readdirSync(folder)).toEqual(["home.json.lock"]);
  });
});

function threadOf(): number {
  const folder = homeFolder();
  let seen = "";
  storeIn(folder).change((state) => {
    const lock = path.join(folder, "home.json.lock");
    if (fs.lstatSync(lock, { throwIfNoEntry: false }) !== undefined) seen = fs.readlinkSync(lock);
    return { ...state, alarm: true };
  });
  return Number(/\.(\d+)@/.exec(seen)?.[1]);
}
