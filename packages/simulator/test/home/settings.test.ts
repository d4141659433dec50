import fs from "node:fs";
import path from "node:path";
import { describe, expect, it, test } from "vitest";
import { defaultSettingsText } from "../../src/home/settings.ts";
import { parseSettings } from "../../src/home/settings-text.ts";
import { defaultSettings, type HomeNotice, openHome } from "../../src/index.ts";
import { homeFolder } from "./home-folder.ts";

describe("home.yaml", () => {
  it("is written with the defaults if it is missing, which is reported once", async () => {
    const data = path.join(homeFolder(), "new", "data");
    const notices: HomeNotice[] = [];
    const open = async () => await openHome({ data, notice: (notice) => notices.push(notice) });
    const { home } = await open();
    expect(home.settings).toBe(defaultSettings);
    expect(fs.readFileSync(path.join(data, "home.yaml"), "utf8")).toBe(defaultSettingsText);
    expect(fs.existsSync(path.join(data, "home.json"))).toBe(false);
    await open();
    expect(notices).toEqual([{ kind: "settings_created", file: path.join(data, "home.yaml") }]);
  });

  it("is not written for a home without persistence", async () => {
    const data = path.join(homeFolder(), "data");
    const { home, stateFile } = await openHome({ data, persist: false });
    home.call("set_alarm_state", { armed: true });
    expect(stateFile).toBeUndefined();
    expect(fs.existsSync(data)).toBe(false);
  });

  it("with the default text has exactly the defaults", () => {
    expect(parseSettings(defaultSettingsText, "home.yaml")).toEqual(defaultSettings);
  });

  test.each(["", "# nothing\n", "{}", "lights:\nfeatures:\n"])("can be empty: %j", (text) => {
    expect(parseSettings(text, "home.yaml")).toMatchObject({ alarmDefault: false, features: new Set() });
  });

  it("defines the lights, their order and the initial states", async () => {
    const data = homeFolder({
      "home.yaml": `
lights: { puerta: true, jardín: false }
alarm_default: true
presence_default: { present: true, known_people: [Ana, Luis] }
`,
    });
    const { home } = await openHome({ data });
    expect(JSON.stringify(home.call("get_all_states"))).toBe(
      '{"lights":{"puerta":true,"jardín":false},"alarm":true,"presence":{"present":true,"known_people":["Ana","Luis"]}}',
    );
  });

  it("can be another file", async () => {
    const data = homeFolder({ "other.yml": "lights: [a]" });
    const { home } = await openHome({ data, settingsFile: path.join(data, "other.yml") });
    expect(home.state.lights).toEqual({ a: false });
  });

  it("must exist if it is another file, unless it shall be created", async () => {
    const data = homeFolder();
    const settingsFile = path.join(data, "new", "other.yaml");
    for (const persist of [true, false])
      await expect(openHome({ data, settingsFile, persist })).rejects.toThrow(/other\.yaml: does not exist/);
    const notices: HomeNotice[] = [];
    const notice = (one: HomeNotice) => notices.push(one);
    await openHome({ data, settingsFile, init: true, notice });
    await openHome({ data, settingsFile, init: true, notice });
    expect(notices).toEqual([{ kind: "settings_created", file: settingsFile }]);
    expect(fs.readFileSync(settingsFile, "utf8")).toBe(defaultSettingsText);
  });

  test.each([
    [
      "lights: 5",
      "home.yaml:1: `lights` must be a list of at most 500 different names, or names with true or false",
    ],
    ["\nlights: [a, a]", "home.yaml:2: `lights` must be a list of at most 500"],
    ["lights: [a, 5]", "home.yaml:1: `lights` must be a list of at most 500"],
    ["lights:\n  a: yes please", "home.yaml:2: `lights.a` must be true or false"],
    ["alarm_default: 'on'", "home.yaml:1: `alarm_default` must be true or false"],
    ["presence_default: [Ana]", "home.yaml:1: `presence_default` must have keys and values"],
    ["presence_default:\n  known_people: Ana", "home.yaml:2: `presence_default.known_people` must be a list"],
    ["presence_default:\n  present: 1", "home.yaml:2: `presence_default.present` must be true or false"],
    ["light: [a]", "home.yaml:1: `light` is not a setting; known here are lights, alarm_default"],
    ["features: [climat]", "home.yaml:1: `features` must be a list of some of presence, climate, scenes"],
    ["features: climate", "home.yaml:1: `features` must be a list of some of"],
    ["climate:\n  target: 31", "home.yaml:2: `climate.target` must be a number from 5 to 30"],
    ["climate:\n  minutes: 0", "home.yaml:2: `climate.minutes` must be a number from 0.01 to 10000"],
    [
      "scenes:\n  a:\n    lights:\n      attic: true",
      "home.yaml:4: `scenes.a.lights.attic` is not one of the lights; those are salon",
    ],
    ["scenes:\n  a: { alarm: 1 }", "home.yaml:2: `scenes.a.alarm` must be true or false"],
    ["scenes:\n  a:\n    thermostat: 20", "home.yaml:3: `scenes.a.thermostat` needs `climate` in `features`"],
    [
      "scenes:\n  a: { doors: 1 }",
      "home.yaml:2: `scenes.a.doors` is not a setting; known here are lights, alarm, thermostat",
    ],
    ["scenes: [a]", "home.yaml:1: `scenes` must have keys and values"],
    ["[a]", "home.yaml:1: must have keys and values"],
    ["lights: [a", "home.yaml:1: "],
    [`a: &a [x]\nb: &b [${"*a,".repeat(30)}]\nc: [${"*b,".repeat(30)}]`, "home.yaml: Excessive alias count"],
    ["a: 1\na: 2", "home.yaml:2: Map keys must be unique"],
  ])("is rejected with key and line: %j", (text, message) => {
    expect(() => parseSettings(text, "home.yaml")).toThrow(message);
  });

  it("is rejected with all problems at once", () => {
    expect(() => parseSettings("alarm_default: 1\nfoo: 2\nfeatures: 3", "home.yaml")).toThrow(
      expect.objectContaining({
        code: "home_settings_invalid",
        problems: [
          expect.objectContaining({ key: "foo", line: 2, rule: "unknown_key" }),
          expect.objectContaining({ key: "features", line: 3, rule: "feature" }),
          expect.objectContaining({ key: "alarm_default", line: 1, rule: "flag" }),
        ],
      }),
    );
  });

  it("is reported when it is a folder", async () => {
    const data = homeFolder();
    fs.mkdirSync(path.join(data, "home.yaml"));
    await expect(openHome({ data })).rejects.toThrow(/home\.yaml: EISDIR/);
  });
});
