import { describe, expect, it } from "vitest";
import { didYouMean, limits, nearNames } from "../src/index.ts";

const tools = [
  "self.get_device_status",
  "self.audio_speaker.set_volume",
  "self.screen.set_brightness",
  "self.screen.set_theme",
  "self.light.on",
];

describe("suggestions for a name", () => {
  it.each([
    ["get_device_status", ["self.get_device_status"]],
    ["SELF.Get_Device_Status", ["self.get_device_status"]],
    ["self_audio_speaker_set_volume", ["self.audio_speaker.set_volume"]],
    ["self.audio_speaker.set_volmue", ["self.audio_speaker.set_volume"]],
    ["self.audio_speker.set_volum", ["self.audio_speaker.set_volume"]],
    ["set_volume", ["self.audio_speaker.set_volume"]],
    ["screen", ["self.screen.set_brightness", "self.screen.set_theme"]],
    // The opposite is not a typing error.
    ["self.light.off", []],
    ["self.", []],
    ["dance", []],
    ["", []],
    ["🙂", []],
  ])("for %j are %j", (wanted, near) => {
    expect(nearNames(wanted, tools)).toEqual(near);
  });

  it.each([
    ["desk", "dsek", 1],
    ["kitchen-lamp", "kitchn-lmap", 1],
    ["kitchen-lamp", "kit-lamp", 0],
    ["lamp", "lamps", 1],
    ["lamp", "amp", 1],
    ["lamp", "cramp", 0],
  ])("has %s near %s: %i", (name, wanted, count) => {
    expect(nearNames(wanted, [name])).toHaveLength(count);
  });

  it("are at most three, the most similar first, and only those that fit", () => {
    const known = ["lamp-12", "lamp-2", "lamp-1", "lamp-3", "lamp-4"];
    expect(nearNames("lamp-0", known)).toEqual(["lamp-1", "lamp-2", "lamp-3"]);
    expect(nearNames("lamp-0", known, (name) => name === "lamp-4")).toEqual(["lamp-4"]);
  });

  it("are searched within a bound", () => {
    const many = Array.from({ length: limits.hintCandidates.max }, (_, index) => `other-${index}`);
    expect(nearNames("desc", [...many, "desk"])).toEqual([]);
    expect(nearNames("x".repeat(limits.hintedNameLength.max + 1), ["x".repeat(64)])).toEqual([]);
  });

  it("are formatted as a sentence", () => {
    expect(didYouMean([])).toBe("");
    expect(didYouMean(["a"])).toBe("; did you mean `a`?");
    expect(didYouMean(["a", "b", "c"])).toBe("; did you mean `a`, `b` or `c`?");
  });
});
