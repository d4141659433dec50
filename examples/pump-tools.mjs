// Tools of a pump with every kind of answer, for a virtual board. docs/guides/device-authors.md has each beside its C++.
//
//   npx tendon simulate esp32 --tools examples/pump-tools.mjs
import { ToolImage } from "@tendon/simulator";

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

export function register(device) {
  let level = 20;

  device.addTool("self.pump.is_running", "Whether the pump runs.", {}, () => level > 0);

  device.addTool("self.pump.get_level", "The power of the pump in percent.", {}, () => level);

  device.addTool("self.pump.get_name", "The name of the pump.", {}, () => "pump in the garden");

  device.addTool("self.pump.get_state", "Everything about the pump.", {}, () => ({
    running: level > 0,
    level,
  }));

  device.addTool(
    "self.pump.get_picture",
    "A picture of the pump.",
    {},
    () => new ToolImage("image/png", pixel),
  );

  device.addTool(
    "self.pump.set_level",
    "Sets the power of the pump in percent.",
    {
      level: { type: "integer", minimum: 0, maximum: 100 },
      seconds: { type: "integer", default: 60, minimum: 1, maximum: 3600 },
      mode: { type: "string", default: "quiet" },
      confirm: { type: "boolean", default: false },
    },
    ({ level: wanted, mode, confirm }) => {
      if (wanted > 80 && !confirm) throw new Error("more than 80 percent needs confirm");
      level = wanted;
      device.notify("notifications/pump_changed", { level, mode });
      return true;
    },
  );

  device.addUserOnlyTool("self.pump.calibrate", "Calibrates the pump.", {}, () => true);
}
