import { repairTool, toolAnnotations, toolTitle } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

function judge(name: string, more: object = {}, userOnly = false): string {
  const repaired = repairTool({ name, inputSchema: { type: "object", properties: {} }, ...more }, userOnly);
  if (!repaired.ok) throw new TypeError(repaired.setAside.reason);
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = toolAnnotations(repaired.tool);
  return [
    readOnlyHint ? "reads" : "changes",
    ...(destructiveHint ? ["destructive"] : []),
    ...(idempotentHint ? ["idempotent"] : []),
    ...(openWorldHint ? ["open"] : []),
  ].join(" ");
}

const strictest = "changes destructive open";

describe("[AGT-8] annotations", () => {
  test.each([
    ["self.get_device_status", "reads idempotent"],
    ["self.get_system_info", "reads idempotent"],
    ["self.screen.get_info", "reads idempotent"],
    ["self.audio_speaker.set_volume", "changes idempotent"],
    ["self.screen.set_theme", "changes idempotent"],
    ["self.camera.take_photo", "changes open"],
    ["self.reboot", "changes destructive"],
    ["self.upgrade_firmware", "changes destructive open"],
    ["self.light.get_power", "reads idempotent"],
    ["self.model.param_get", "reads idempotent"],
    ["get_all_states", "reads idempotent"],
    ["list_lights_on", "reads idempotent"],
    ["get_alarm_status", "reads idempotent"],
    ["set_light_state", "changes idempotent"],
    ["self.lamp.turn_on", "changes idempotent"],
    ["self.lamp.toggle", "changes"],
    ["setBrightness", "changes idempotent"],
    ["self.volume.set_up", "changes"],
    ["play_music", "changes"],
    ["set_alarm_state", strictest],
    ["turn_off_gas", strictest],
    ["self.door.open", strictest],
    ["get_and_reset_counter", strictest],
    ["self.lamp.factory_reset", strictest],
    ["set_wifi_password", strictest],
    ["self.dog.forward", strictest],
    ["开灯", strictest],
    ["frobnicate", strictest],
  ])("of %s by the gateway's rules: %s", (name, expected) => {
    expect(judge(name)).toBe(expected);
  });

  it("of a user-only tool are strict unless it only reads", () => {
    expect(judge("set_colour", {}, true)).toBe(strictest);
    expect(judge("get_colour", {}, true)).toBe("reads idempotent");
  });

  it("of a tool with an address argument are openWorld", () => {
    const inputSchema = { type: "object", properties: { imageUrl: { type: "string" } } };
    expect(judge("show_image", { inputSchema })).toBe("changes open");
    expect(judge("get_image", { inputSchema })).toBe("changes idempotent open");
  });

  it("include a device's warnings", () => {
    expect(judge("get_x", { annotations: { readOnlyHint: false } })).toBe("changes idempotent");
    expect(judge("get_x", { annotations: { destructiveHint: true } })).toBe("changes destructive idempotent");
    expect(judge("set_x", { annotations: { idempotentHint: false, openWorldHint: true } })).toBe(
      "changes open",
    );
  });

  it("are never less strict because of a device's annotations", () => {
    const name = fc.constantFrom(
      "get_x",
      "set_x",
      "self.reboot",
      "frobnicate",
      "self.camera.take_photo",
      "open_door",
    );
    const hints = fc.dictionary(
      fc.constantFrom("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"),
      fc.constantFrom<unknown>(true, false, null, "true", 1),
    );
    const flags = (text: string) => new Set(text.split(" "));
    fc.assert(
      fc.property(name, hints, (tool, annotations) => {
        const own = flags(judge(tool));
        const said = flags(judge(tool, { annotations }));
        if (!own.has("reads")) expect(said.has("reads")).toBe(false);
        if (!own.has("idempotent")) expect(said.has("idempotent")).toBe(false);
        if (own.has("destructive")) expect(said.has("destructive")).toBe(true);
        if (own.has("open")) expect(said.has("open")).toBe(true);
      }),
    );
  });
});

describe("a title", () => {
  test.each([
    ["self.audio_speaker.set_volume", "Set volume (audio speaker)"],
    ["self.get_device_status", "Get device status"],
    ["self.AEC.set_mode", "Set mode (aec)"],
    ["setThermostat", "Set thermostat"],
    ["set-light", "Set light"],
    ["a.b.c", "C (a, b)"],
    ["开灯", "开灯"],
    ["self.", ""],
    ["...", ""],
  ])("of %s is %s", (name, title) => {
    expect(toolTitle(name)).toBe(title);
  });
});
