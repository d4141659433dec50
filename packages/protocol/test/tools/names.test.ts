import { createHash } from "node:crypto";
import {
  aliasPattern,
  bareToolName,
  defaultAlias,
  exposedName,
  fitsAsExposedName,
  isAlias,
  shortenedName,
} from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { codePoint } from "../code-point.ts";

const everyAgentAccepts = /^[a-zA-Z0-9_-]{1,64}$/;
const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex");
const aliases = fc.stringMatching(new RegExp(aliasPattern));

describe("a tool's bare name", () => {
  test.each([
    ["self.audio_speaker.set_volume", "audio_speaker_set_volume"],
    ["self.get_device_status", "get_device_status"],
    ["self.self.x", "self_x"],
    ["get_status", "get_status"],
    ["myself.x", "myself_x"],
    ["selfie", "selfie"],
    ["self", "self"],
    ["self.", "_"],
    ["Self.AEC-mode", "Self_AEC-mode"],
    ["a b/c:d", "a_b_c_d"],
    ["灯", "_"],
    ["", "_"],
  ])("%j becomes %j", (tool, bare) => {
    expect(bareToolName(tool)).toBe(bare);
  });

  it("has only letters, digits, _ and -, and at least one of them", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (tool) => {
        expect(bareToolName(tool)).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });
});

describe("the exposed name", () => {
  it("is the alias, two underscores and the bare name", () => {
    expect(exposedName("desk", "self.audio_speaker.set_volume")).toBe("desk__audio_speaker_set_volume");
  });

  test.each([
    [48, true],
    [49, false],
  ])("of %i characters fits: %j", (length, fits) => {
    expect(fitsAsExposedName("x".repeat(length))).toBe(fits);
  });

  it("is cut to 48 characters with _ and 6 hex digits of SHA-256 over id, NUL, tool when it is too long", () => {
    const tool = "self.a_very_long_name.of_a_tool.that_nobody_can_type";
    const name = shortenedName(exposedName("kitchen", tool), "aa:bb:cc:dd:ee:ff", tool, sha256Hex);
    const digest = sha256Hex(`aa:bb:cc:dd:ee:ff\u0000${tool}`).slice(0, 6);
    expect(name).toBe(`kitchen__a_very_long_name_of_a_tool_that__${digest}`);
    expect(name).toHaveLength(48);
  });

  it("gets the digest without being cut when it is already used", () => {
    expect(shortenedName("desk__on", "id", "self.on", () => "0123456789abcdef")).toBe("desk__on_012345");
  });

  it("differs for tools that are equal after cutting", () => {
    const long = `self.${"x".repeat(60)}`;
    const names = [`${long}.a`, `${long}.b`, `${long}/a`].map((tool) =>
      shortenedName(exposedName("desk", tool), "id", tool, sha256Hex),
    );
    expect(new Set(names).size).toBe(3);
  });

  it("differs for devices, also at the boundary of id and tool", () => {
    const names = [
      shortenedName("n", "a", "bc", sha256Hex),
      shortenedName("n", "ab", "c", sha256Hex),
      shortenedName("n", "a", "c", sha256Hex),
    ];
    expect(new Set(names).size).toBe(3);
  });

  it("is accepted by every agent, whole or cut", () => {
    fc.assert(
      fc.property(aliases, fc.string({ unit: codePoint, maxLength: 128 }), fc.string(), (alias, tool, id) => {
        const whole = exposedName(alias, tool);
        const cut = shortenedName(whole, id, tool, sha256Hex);
        expect(cut).toMatch(everyAgentAccepts);
        expect(cut).toMatch(/_[0-9a-f]{6}$/);
        expect(fitsAsExposedName(cut)).toBe(true);
        expect(fitsAsExposedName(whole) ? whole : cut).toMatch(everyAgentAccepts);
      }),
    );
  });
});

describe("an alias", () => {
  test.each(["a", "desk", "kitchen-lamp-2", "x".repeat(24), "a-"])("may be %j", (text) => {
    expect(isAlias(text)).toBe(true);
  });

  test.each(["", "Desk", "2desk", "-desk", "desk_1", "de sk", "desk.", "désk", "desk\n", "x".repeat(25)])(
    "may not be %j",
    (text) => {
      expect(isAlias(text)).toBe(false);
    },
  );
});

describe("the default alias of a device", () => {
  test.each([
    ["bread-compact-wifi", "aa:bb:cc:dd:12:3f", "bread-compact-wifi-123f"],
    ["linux-host", "02:00:00:00:00:01", "linux-host-0001"],
    ["LILYGO T-Circle S3", "aa:bb:cc:dd:ee:ff", "lilygo-t-circle-s3-eeff"],
    ["esp32-s3-touch-lcd-1.85c", "aa:bb:cc:dd:ee:ff", "esp32-s3-touch-lcd-eeff"],
    ["", "aa:bb:cc:dd:ee:ff", "device-eeff"],
    ["面包板", "aa:bb:cc:dd:ee:ff", "device-eeff"],
    ["42", "aa:bb:cc:dd:ee:ff", "device-eeff"],
    ["--x--", "aa:bb:cc:dd:ee:ff", "x-eeff"],
    ["3d-printer", "aa:bb:cc:dd:ee:ff", "d-printer-eeff"],
    ["home", "xyz", "home-0000"],
    ["home", "", "home-0000"],
    ["home", "a1", "home-00a1"],
    ["home", "AA:BB:CC:DD:EE:FF", "home-eeff"],
  ])("board %j with id %j is %j", (board, id, alias) => {
    expect(defaultAlias(board, id)).toBe(alias);
  });

  it("is always a valid alias", () => {
    const boards = fc.oneof(fc.string({ unit: codePoint }), fc.stringMatching(/^[a-zA-Z0-9 .-]{0,60}$/));
    fc.assert(
      fc.property(boards, fc.string({ unit: codePoint }), (board, id) => {
        expect(defaultAlias(board, id)).toMatch(new RegExp(aliasPattern));
      }),
      { numRuns: 500 },
    );
  });
});
