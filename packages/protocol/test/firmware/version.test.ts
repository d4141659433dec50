import { isFirmwareVersion, isNewerFirmware } from "@tendon/protocol";
import { describe, expect, it } from "vitest";

describe("firmware versions", () => {
  it.each([
    ["2.4.2", true],
    ["10", true],
    ["1.2.3.4", true],
    ["1.2.3.4.5", false],
    ["v2.0", false],
    ["2.0-beta", false],
    ["2..1", false],
    ["2.", false],
    ["", false],
    ["999999", false],
    ["2.4.2\n", false],
  ])("%j is valid: %s", (text, is) => {
    expect(isFirmwareVersion(text)).toBe(is);
  });

  it.each([
    ["2.5.0", "2.4.2", true],
    ["2.4.2", "2.4.2", false],
    ["2.4.1", "2.4.2", false],
    ["2.10.0", "2.9.9", true],
    ["2.4", "2.4.2", false],
    ["2.4.2.0", "2.4.2", true],
    ["3", "2.9", true],
    ["2", "10", false],
  ])("%s is newer than %s: %s, as on the board", (offered, running, newer) => {
    expect(isNewerFirmware(offered, running)).toBe(newer);
  });
});
