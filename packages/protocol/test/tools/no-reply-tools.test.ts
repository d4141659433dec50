import { leavesInsteadOfAnswering } from "@tendon/protocol";
import { describe, expect, test } from "vitest";

describe("a no-reply tool", () => {
  test.each([
    "self.reboot",
    "self.upgrade_firmware",
    "self.system.reconfigure_wifi",
    "self.system.switch_TFT",
    "self.res.esp_restart",
  ])("%s", (tool) => {
    expect(leavesInsteadOfAnswering(tool)).toBe(true);
  });

  test.each(["self.get_device_status", "reboot", "SELF.REBOOT", "self.reboot ", "", "constructor"])(
    "is not %j",
    (tool) => {
      expect(leavesInsteadOfAnswering(tool)).toBe(false);
    },
  );
});
