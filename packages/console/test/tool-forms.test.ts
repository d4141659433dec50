import type { Tool } from "@tendon/protocol";
import { describe, expect, it } from "vitest";
import { initialValues, presentValues } from "../src/pages/device/initial-values.ts";
import { groupByPurpose } from "../src/pages/device/tool-purposes.ts";
import { readInline, readMarkdown } from "../src/pages/guide/markdown.ts";

const status = {
  at: "2026-01-01T00:00:00.000Z",
  value: { audio_speaker: { volume: 70 }, screen: { brightness: 140, theme: "dark" } },
};

describe("the first values of a form", () => {
  it("are those that the device reported, if they fit the schema", () => {
    const schema = {
      properties: {
        brightness: { type: "integer", minimum: 0, maximum: 100 },
        theme: { type: "string" },
        fade: { type: "boolean" },
        speed: { type: "number", default: 2 },
      },
      required: ["brightness", "fade"],
    };
    expect(initialValues(schema, presentValues("self.screen.set_theme", status))).toEqual({
      theme: "dark",
      fade: false,
      speed: 2,
    });
    expect(initialValues({ properties: { theme: { enum: ["light"] } } }, { theme: "dark" })).toEqual({});
  });

  it("come only from the part of the status that the tool sets", () => {
    expect(presentValues("self.audio_speaker.set_volume", status)).toEqual({ volume: 70 });
    for (const tool of ["self.audio_speaker.play", "self.lamp.set_volume", "set_volume", "audio_speaker"])
      expect(presentValues(tool, status)).toEqual({});
    expect(presentValues("self.audio_speaker.set_volume", null)).toEqual({});
  });
});

describe("the groups of tools", () => {
  it("are their purposes, then the device's own groups, then the rest", () => {
    const names = [
      "self.dance.spin",
      "self.get_device_status",
      "self.reboot",
      "self.screen.get_info",
      "self.audio_speaker.set_volume",
      "turn_on_light",
      "wobble",
      "getWeather",
    ];
    const tools = names.map((name) => ({ name }) as Tool);
    expect(
      groupByPurpose(tools).map(({ label, name, tools: found }) => [label ?? name, found.length]),
    ).toEqual([
      ["purpose.sound", 1],
      ["purpose.screen", 1],
      ["purpose.light", 1],
      ["purpose.climate", 1],
      ["purpose.system", 1],
      ["purpose.state", 1],
      ["Dance", 1],
      ["", 1],
    ]);
  });
});

describe("the text of a device", () => {
  it("keeps its line breaks, tags, comments and pictures as text", () => {
    expect(readMarkdown("One <b>line</b>\nand *another*\n<!-- hidden -->", "device")).toEqual([
      {
        kind: "paragraph",
        text: [
          { kind: "text", text: "One " },
          { kind: "text", text: "<b>" },
          { kind: "text", text: "line</b>\nand " },
          { kind: "em", text: "another" },
        ],
      },
      { kind: "paragraph", text: [{ kind: "text", text: "<!-- hidden -->" }] },
    ]);
    expect(readInline("![x](y.png)", "device")).toEqual([{ kind: "text", text: "![x](y.png)" }]);
  });
});
