/** Custom actions, from tendon.yaml to the device. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type ConfigInput, loadConfig, StartError } from "@tendon/gateway";
import { describe, expect, it, onTestFinished } from "vitest";
import { tool } from "../raw-device.ts";
import { firstDevice } from "../site.ts";
import { openSpeaker, statusTool, stockTools } from "./speaker.ts";

const controlPath = `/devices/${firstDevice}/control`;
const documented = /```yaml\n(control:\n.*?)```/s;

function write(text: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-actions-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "tendon.yaml");
  fs.writeFileSync(file, text);
  return file;
}

/** The start's error message, without the folder. */
function problems(text: string): readonly string[] {
  const file = write(text);
  try {
    loadConfig({ file });
  } catch (error) {
    if (error instanceof StartError) return error.problems.map((line) => line.replace(file, "tendon.yaml"));
    throw error;
  }
  return [];
}

function actionsOf(text: string): ConfigInput {
  return { control: { actions: loadConfig({ file: write(text) }).config.control.actions } };
}

function example(): string {
  const page = fs.readFileSync(new URL("../../docs/reference/device-control.md", import.meta.url), "utf8");
  return documented.exec(page)?.[1] ?? "";
}

const colour = { type: "integer", minimum: 0, maximum: 255 };
const lampTools = [
  ...stockTools,
  tool("self.light.set_rgb", { r: colour, g: colour, b: colour }, ["r", "g", "b"]),
  tool("self.battery.get_level"),
  tool("self.screen.set_brightness", { brightness: { type: "integer", minimum: 0, maximum: 100 } }, [
    "brightness",
  ]),
  tool("self.screen.set_theme", { theme: { type: "string" } }, ["theme"]),
];

describe("the actions that docs/reference/device-control.md adds", () => {
  it.each([
    [
      { action: "set_light_color", r: 255, g: 0, b: 7 },
      "self_set_light_color",
      "self.light.set_rgb",
      { r: 255, g: 0, b: 7 },
    ],
    [{ action: "battery" }, "self_get_battery_status", "self.battery.get_level", {}],
    [{ action: "set_theme", theme: "dark" }, "self_set_theme", "self.screen.set_theme", { theme: "dark" }],
    [
      { function_call: { name: "self_set_theme", arguments: { theme: "" } } },
      "self_set_theme",
      "self.screen.set_theme",
      { theme: "" },
    ],
    [{ action: "set_volume", volume: 3 }, "self_set_volume", "self.audio_speaker.set_volume", { volume: 3 }],
  ])("[CTL-2] %j", async (message, functionName, name, args) => {
    const { site, speaker } = await openSpeaker({ config: actionsOf(example()), tools: lampTools });
    const { status, body } = await site.rest("POST", controlPath, message);
    expect([status, body]).toMatchObject([200, { ok: true, function: functionName, tools: [name] }]);
    expect(speaker.calls).toMatchObject([{ name, arguments: args }]);
  });

  it("[CTL-6] composes brightness_up if the device lacks the tool, and uses the tool otherwise", async () => {
    const config = actionsOf(example());
    const { site, speaker } = await openSpeaker({ config, tools: lampTools });
    speaker.answers.set(statusTool, () => ({
      result: { content: [{ type: "text", text: '{"screen":{"brightness":96}}' }] },
    }));
    const { body } = await site.rest("POST", controlPath, { action: "brightness_up", value: 20 });
    expect(body).toMatchObject({
      ok: true,
      action: "brightness_up",
      tools: [statusTool, "self.screen.set_brightness"],
      result: { structuredContent: { brightness: 100, previous: 96 } },
    });
    expect(speaker.calls[1]?.arguments).toEqual({ brightness: 100 });
    const native = await openSpeaker({
      config,
      tools: [...lampTools, tool("self.screen.brightness_up", { step: { type: "integer" } })],
    });
    await native.site.rest("POST", controlPath, { action: "brightness_up", step: 2 });
    expect(native.speaker.calls).toMatchObject([
      { name: "self.screen.brightness_up", arguments: { step: 2 } },
    ]);
  });

  it("[CTL-4] return the fields of `result`", async () => {
    const { site, speaker } = await openSpeaker({ config: actionsOf(example()), tools: lampTools });
    speaker.answers.set(statusTool, () => ({
      result: { content: [{ type: "text", text: '{"screen":{"brightness":96}}' }] },
    }));
    const { body } = await site.rest("POST", controlPath, { action: "get_brightness" });
    expect(body["result"]).toMatchObject({
      structuredContent: { brightness: 96, screen: { brightness: 96 } },
    });
  });

  it("[CTL-2] are listed in the error for an unknown action", async () => {
    const { site } = await openSpeaker({ config: actionsOf(example()) });
    const { body } = await site.rest("POST", controlPath, { action: "explode" });
    expect(body["known"]).toEqual(
      expect.arrayContaining([
        "set_volume",
        "set_light_color",
        "get_battery_status",
        "battery",
        "brightness_up",
      ]),
    );
  });

  it("[CTL-3] check the types of their arguments", async () => {
    const { site, speaker } = await openSpeaker({ config: actionsOf(example()), tools: lampTools });
    const wrong = await site.rest("POST", controlPath, { action: "set_light_color", r: 256, g: "0" });
    expect(wrong.body["errors"]).toEqual([
      { path: "/r", message: "must be at most 255" },
      { path: "/g", message: "must be an integer" },
      { path: "/b", message: "is required" },
    ]);
    expect(speaker.calls).toEqual([]);
  });

  it("[CTL-6] replace a default action with the same name", async () => {
    const text = "control:\n  actions:\n    mute:\n      tool: self.amp.off\n";
    const { site, speaker } = await openSpeaker({ config: actionsOf(text), tools: [tool("self.amp.off")] });
    expect((await site.rest("POST", controlPath, { action: "mute" })).body).toMatchObject({ ok: true });
    expect(speaker.names).toEqual(["self.amp.off"]);
  });
});

describe("a mistake in control.actions stops the start and names line and key", () => {
  const head = "control:\n  actions:\n    a:\n      tool: self.a\n";
  it.each([
    ["no tool", "control:\n  actions:\n    a:\n      function: self_a\n", ":3", "control.actions.a"],
    ["an unknown key", `${head}      colour: red\n`, ":5", "control.actions.a.colour"],
    [
      "an unknown type",
      `${head}      arguments:\n        x: { type: float }\n`,
      ":6",
      "control.actions.a.arguments.x.type",
    ],
    [
      "a tool that is no text",
      "control:\n  actions:\n    a:\n      tool: 5\n",
      ":4",
      "control.actions.a.tool",
    ],
    [
      "a function of another action",
      `${head}      function: self_mute\n`,
      ":5",
      "control.actions.a.function",
    ],
    ["an alias that is an action", `${head}      aliases: [mute]\n`, ":5", "control.actions.a.aliases"],
    [
      "bounds upside down",
      `${head}      arguments:\n        x: { type: integer, minimum: 5, maximum: 1 }\n`,
      ":6",
      "control.actions.a.arguments.x",
    ],
    [
      "a step that is no argument",
      `${head}      compose:\n        adjust:\n          read: { tool: s, path: p }\n          write: { tool: w, argument: v }\n          by: { argument: step, default: 1, direction: up }\n          minimum: 0\n          maximum: 9\n`,
      ":9",
      "control.actions.a.compose.adjust.by",
    ],
    [
      "an unknown composition",
      `${head}      compose:\n        repeat: 5\n`,
      ":6",
      "control.actions.a.compose.repeat",
    ],
    ["an action that is no object", "control:\n  actions:\n    a: 5\n", ":3", "control.actions.a"],
    [
      "a result of an argument that it lacks",
      `${head}      result:\n        v: { argument: w }\n`,
      ":6",
      "control.actions.a.result.v",
    ],
    [
      "a result from two places",
      `${head}      result:\n        v: { argument: w, path: p }\n`,
      ":6",
      "control.actions.a.result.v",
    ],
    ["a name with a space", 'control:\n  actions:\n    "a b":\n      tool: x\n', ":3", "a b"],
  ])("%s", (_, text, line, key) => {
    const found = problems(text);
    const lines = found.join("\n");
    expect(found.length).toBeGreaterThan(0);
    expect(lines).toContain(`tendon.yaml${line}`);
    expect(lines).toContain(key);
  });

  const step = "by: { argument: s, default: 1, direction: up }, minimum: 0, maximum: 9";
  it.each([
    [
      "a composition that lacks something",
      `      compose: { adjust: { read: { tool: r }, write: { tool: w, argument: v }, ${step} } }\n`,
      "tendon.yaml:5: `control.actions.a.compose.adjust.read` must have required properties path",
    ],
    [
      "a composition of nothing",
      "      compose: {}\n",
      "tendon.yaml:5: `control.actions.a.compose` must not have fewer than 1 properties",
    ],
    [
      "two compositions",
      "      compose: { unmute: { write: { tool: w, argument: v } }, mute: { read: { tool: r, path: p }, write: { tool: w, argument: v }, to: 0 } }\n",
      "tendon.yaml:5: `control.actions.a.compose` must not have more than 1 properties",
    ],
    [
      "bounds of a text",
      "      arguments:\n        x: { type: string, maximum: 5 }\n",
      "tendon.yaml:6: `control.actions.a.arguments.x` has bounds, but only integers can have bounds",
    ],
    [
      "an argument that no message can carry",
      "      arguments:\n        action: { type: string }\n",
      "tendon.yaml:6: `control.actions.a.arguments.action` is reserved in messages: give it another name in `aliases`",
    ],
    [
      "an argument's other name that a message has for itself",
      "      arguments:\n        x: { type: string, aliases: [device] }\n",
      "tendon.yaml:6: `control.actions.a.arguments.x.aliases` `device` is reserved in messages",
    ],
    [
      "one name for two arguments",
      "      arguments:\n        x: { type: string, aliases: [y] }\n        y: { type: string }\n",
      "tendon.yaml:7: `control.actions.a.arguments.y` `y` is already a name of `x`",
    ],
    [
      "one other name for two arguments",
      "      arguments:\n        x: { type: string, aliases: [z] }\n        y: { type: string, aliases: [z] }\n",
      "tendon.yaml:7: `control.actions.a.arguments.y.aliases` `z` is already a name of `x`",
    ],
  ])("%s, in one sentence", (_, more, sentence) => {
    expect(problems(`${head}${more}`)).toEqual([sentence]);
  });

  it("[CTL-3] an argument with a reserved name is passed with its alias, or in `arguments`", async () => {
    const text = `${head}      arguments:\n        action: { type: string, required: true, aliases: [move] }\n`;
    expect(problems(text)).toEqual([]);
    const { site, speaker } = await openSpeaker({
      config: actionsOf(text),
      tools: [tool("self.a", { action: { type: "string" } }, ["action"])],
    });
    const asks = [
      { action: "a", move: "sit" },
      { action: "a", arguments: { action: "sit" } },
      { function_call: { name: "self_a", arguments: { action: "sit" } } },
    ];
    for (const body of asks) {
      expect((await site.rest("POST", controlPath, body)).body).toMatchObject({
        ok: true,
        tools: ["self.a"],
      });
      expect(speaker.calls.at(-1)?.arguments).toEqual({ action: "sit" });
    }
  });

  it("reports none for the documented example", () => {
    expect(example()).toContain("brightness_up");
    expect(problems(example())).toEqual([]);
  });
});
