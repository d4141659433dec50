import { type ActionMap, Actions, checkActions, defaultActions, readArguments } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const actions = Actions.of(defaultActions);

function known(name: string) {
  const action = actions.byName(name);
  if (action === undefined) throw new Error(`${name} is not there`);
  return action;
}

describe("the default map", () => {
  it.each([
    ["set_volume", "self_set_volume", "self.audio_speaker.set_volume"],
    ["volume_up", "self_volume_up", "self.audio_speaker.volume_up"],
    ["volume_down", "self_volume_down", "self.audio_speaker.volume_down"],
    ["get_volume", "self_get_volume", "self.get_device_status"],
    ["mute", "self_mute", "self.audio_speaker.mute"],
    ["unmute", "self_unmute", "self.audio_speaker.unmute"],
  ])("[CTL-2] %s is %s is %s", (name, functionName, tool) => {
    expect(known(name)).toMatchObject({ name, function: functionName, tool });
    expect(actions.byFunction(functionName)).toBe(known(name));
  });

  it("[CTL-2] has six actions without mistakes, and no others", () => {
    expect(actions.names).toEqual(Object.keys(defaultActions));
    expect(actions.names.length).toBe(6);
    expect(checkActions({}, defaultActions)).toEqual([]);
    expect(checkActions(defaultActions, {})).toEqual([]);
    for (const name of ["", "SET_VOLUME", "self_mute", "constructor", "__proto__", "toString"]) {
      expect(actions.byName(name)).toBeUndefined();
    }
    expect(actions.byFunction("mute")).toBeUndefined();
  });
});

describe("merged maps", () => {
  it("[CTL-2] add actions and aliases, and replace by name", () => {
    const merged = Actions.of(defaultActions, {
      dim: { tool: "self.lamp.dim", aliases: ["darker"] },
      mute: { function: "quiet", tool: "self.amp.off" },
    });
    expect(merged.byName("dim")).toMatchObject({ function: "self_dim", arguments: {}, compose: undefined });
    expect(merged.byName("darker")).toBe(merged.byName("dim"));
    expect(merged.byFunction("self_dim")).toBe(merged.byName("dim"));
    expect(merged.byName("mute")).toMatchObject({ tool: "self.amp.off", compose: undefined });
    expect(merged.byFunction("quiet")).toBe(merged.byName("mute"));
    expect(merged.byFunction("self_mute")).toBeUndefined();
    expect(merged.names).toContain("darker");
  });

  it("[CTL-2] an alias never hides an action", () => {
    const merged = Actions.of({ a: { tool: "a", aliases: ["b"] }, b: { tool: "b" } });
    expect(merged.byName("b")).toMatchObject({ tool: "b" });
  });

  it("[CTL-2] names of inherited properties are ordinary names", () => {
    const merged = Actions.of({ constructor: { tool: "c" }, toString: { tool: "t", aliases: ["valueOf"] } });
    expect(merged.byName("constructor")).toMatchObject({ tool: "c" });
    expect(merged.byName("valueOf")).toMatchObject({ tool: "t" });
    expect(merged.byName("hasOwnProperty")).toBeUndefined();
  });
});

describe("mistakes in a map", () => {
  const level = { read: { tool: "r", path: "p" }, write: { tool: "w", argument: "v" } };
  const step = { step: { type: "integer" as const } };
  const by = { argument: "step", default: 1, direction: "up" as const };
  const cases: readonly [string, ActionMap, string, string][] = [
    ["a function of ours", { a: { tool: "t", function: "self_mute" } }, "a.function", "`mute`"],
    ["a function twice", { a: { tool: "t" }, b: { tool: "t", function: "self_a" } }, "b.function", "`a`"],
    [
      "a function by default",
      { b: { tool: "t", function: "self_c" }, c: { tool: "t" } },
      "c.function",
      "`b`",
    ],
    ["an alias of ours", { a: { tool: "t", aliases: ["mute"] } }, "a.aliases", "`mute`"],
    ["an alias of its own name", { a: { tool: "t", aliases: ["a"] } }, "a.aliases", "`a`"],
    [
      "an alias twice",
      { a: { tool: "t", aliases: ["x"] }, b: { tool: "t", aliases: ["x"] } },
      "b.aliases",
      "`x`",
    ],
    [
      "bounds upside down",
      { a: { tool: "t", arguments: { n: { type: "integer", minimum: 2, maximum: 1 } } } },
      "a.arguments.n",
      "minimum",
    ],
    [
      "a step that is not an argument",
      { a: { tool: "t", compose: { adjust: { ...level, by, minimum: 0, maximum: 1 } } } },
      "a.compose.adjust.by",
      "`step`",
    ],
    [
      "a step that is a text",
      {
        a: {
          tool: "t",
          arguments: { step: { type: "string" } },
          compose: { adjust: { ...level, by, minimum: 0, maximum: 1 } },
        },
      },
      "a.compose.adjust.by",
      "`step`",
    ],
    [
      "levels upside down",
      { a: { tool: "t", arguments: step, compose: { adjust: { ...level, by, minimum: 5, maximum: 1 } } } },
      "a.compose.adjust",
      "minimum",
    ],
  ];
  it.each(cases)("[CTL-2] %s", (_, map, at, says) => {
    const [problem, ...more] = checkActions(map, defaultActions);
    expect(more).toEqual([]);
    expect(problem?.path.join(".")).toBe(at);
    expect(problem?.message).toContain(says);
  });

  it("[CTL-2] allows replacing an action by one with the same function", () => {
    expect(checkActions({ mute: { tool: "t", function: "self_mute" } }, defaultActions)).toEqual([]);
  });
});

describe("reading arguments", () => {
  it.each([
    ["set_volume", { volume: 0 }, { volume: 0 }],
    ["set_volume", { value: 0 }, { volume: 0 }],
    ["set_volume", { volume: null, value: 4 }, { volume: 4 }],
    ["set_volume", { volume: 100, value: 4, other: {} }, { volume: 100 }],
    ["volume_up", {}, {}],
    ["volume_up", { step: undefined }, {}],
    ["volume_up", { step: 0 }, { step: 0 }],
    ["mute", { volume: 5 }, {}],
  ])("[CTL-3] %s of %j is %j", (name, fields, wanted) => {
    expect(readArguments(known(name), fields)).toEqual({ ok: true, arguments: wanted });
  });

  it.each([
    ["set_volume", {}, "/volume", "is required"],
    ["set_volume", { volume: "0" }, "/volume", "must be an integer"],
    ["set_volume", { value: [] }, "/value", "must be an integer"],
    ["set_volume", { volume: Number.NaN }, "/volume", "must be an integer"],
    ["set_volume", { volume: 1e300 }, "/volume", "must be at most 100"],
    ["volume_down", { step: -1 }, "/step", "must be at least 0"],
  ])("[CTL-3] %s of %j reports %s %s", (name, fields, path, message) => {
    expect(readArguments(known(name), fields)).toEqual({ ok: false, problems: [{ path, message }] });
  });

  it("[CTL-3] checks the types of booleans and texts", () => {
    const one = Actions.of({
      a: { tool: "t", arguments: { on: { type: "boolean", required: true }, name: { type: "string" } } },
    }).byName("a");
    if (one === undefined) throw new Error("a is not there");
    expect(readArguments(one, { on: false, name: "" })).toEqual({
      ok: true,
      arguments: { on: false, name: "" },
    });
    expect(readArguments(one, { on: 0, name: 5 })).toEqual({
      ok: false,
      problems: [
        { path: "/on", message: "must be a boolean" },
        { path: "/name", message: "must be a string" },
      ],
    });
  });

  it("[CTL-3] returns only valid arguments for any fields", () => {
    fc.assert(
      fc.property(fc.constantFrom(...actions.names), fc.object(), fc.anything(), (name, more, value) => {
        const read = readArguments(known(name), { ...more, volume: value, step: value });
        if (!read.ok) return read.problems.length > 0;
        return Object.values(read.arguments).every(
          (level) => Number.isInteger(level) && Number(level) >= 0 && Number(level) <= 100,
        );
      }),
    );
  });
});
