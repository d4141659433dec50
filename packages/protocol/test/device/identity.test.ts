import { isClientId, limits, macMistake, normaliseDeviceId } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";

describe("a device's id", () => {
  test.each([
    "aa:bb:cc:dd:ee:0f",
    "AA:BB:CC:DD:EE:0F",
    "aa-bb-cc-dd-ee-0f",
    "AA_BB_CC_DD_EE_0F",
    "aabbccddee0f",
    "AaBbCcDdEe0F",
    "  aa:bb:cc:dd:ee:0f\n",
  ])("written as %j is the same MAC address", (spelling) => {
    expect(normaliseDeviceId(spelling)).toBe("aa:bb:cc:dd:ee:0f");
  });

  test.each([
    "home",
    "Kitchen-Lamp.2",
    "a",
    "9",
    "aa:bb:cc:dd:ee",
    "aa:bb:cc:dd:ee:ff:00",
    "gg:bb:cc:dd:ee:ff",
    "x".repeat(limits.deviceIdLength.max),
  ])("that is not a MAC address is unchanged: %j", (id) => {
    expect(normaliseDeviceId(id)).toBe(id);
  });

  test.each([
    ["nothing", ""],
    ["spaces", " \t\n"],
    ["a space inside", "a b"],
    ["a line end inside", "a\nb"],
    ["a slash, which would split a topic", "a/b"],
    ["a plus, which would match any topic", "a+"],
    ["a hash, which would match every topic", "#"],
    ["a leading dot", "../etc"],
    ["a leading dash", "-rf"],
    ["a quote", 'a"b'],
    ["an at sign", "a@@@b"],
    ["a NUL", "a\u0000"],
    ["other letters", "küche"],
    ["too many characters", "x".repeat(limits.deviceIdLength.max + 1)],
  ])("with %s is invalid", (_, text) => {
    expect(normaliseDeviceId(text)).toBeUndefined();
  });

  it("is unchanged by a second normalization", () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-fA-F]{2}([:_-]?[0-9a-fA-F]{2}){5}$/));
    fc.assert(
      fc.property(texts, (text) => {
        const id = normaliseDeviceId(text);
        if (id !== undefined) expect(normaliseDeviceId(id)).toBe(id);
        else expect(text).not.toMatch(/^[a-z0-9]{1,64}$/);
      }),
    );
  });
});

describe("a text that looks like a MAC address", () => {
  test.each([
    ["24:6f:28:aa:bb:zz", "group 6 is not two hexadecimal digits (0-9, a-f)"],
    ["24:6f:28:aa:bb:c", "group 6 is not two hexadecimal digits (0-9, a-f)"],
    ["24-6f-2o-aa-bb-cc", "group 3 is not two hexadecimal digits (0-9, a-f)"],
    ["24_6f__28_aa_bb_cc", "has 7 groups, where a MAC address has 6"],
    ["24:6f:28:aa:bb", "has 5 groups, where a MAC address has 6"],
    ["24:6f:28:aa:bb:cc:dd", "has 7 groups, where a MAC address has 6"],
    ["246f28aabbzz", "characters 11 and 12 are not hexadecimal digits (0-9, a-f)"],
    ["o46f28aabbcc", "character 1 is not a hexadecimal digit (0-9, a-f)"],
    ["246F.28AA.BBCC", "is written with dots: write it as aa:bb:cc:dd:ee:ff"],
  ])("is reported when it is invalid: %s", (text, mistake) => {
    expect(macMistake(text)).toBe(mistake);
  });

  test.each([
    "24:6f:28:aa:bb:cc",
    "246F28AABBCC",
    "00:12:4b:00:14:d7:a1:b2",
    "lamp_1",
    "home",
    "kitchenlamp1",
    "cafebabelamp",
    "living-room-tv-1-b",
    "7b94d69a-9808-4c59-9c9b-704333b38aff",
    "node-1-2-3-4-5",
    "2026-11-15-01-02-03",
    "",
  ])("is not reported when it is another kind of id: %j", (text) => {
    expect(macMistake(text)).toBeUndefined();
  });
});

describe("a Client-Id", () => {
  test.each(["7b94d69a-9808-4c59-9c9b-704333b38aff", "x", "!".repeat(limits.clientIdLength.max)])(
    "may be %j",
    (text) => {
      expect(isClientId(text)).toBe(true);
    },
  );

  test.each([
    ["empty", ""],
    ["with a space", "a b"],
    ["with a line end at its end", "a\n"],
    ["with a NUL", "a\u0000"],
    ["with other letters", "é"],
    ["too long", "x".repeat(limits.clientIdLength.max + 1)],
  ])("may not be %s", (_, text) => {
    expect(isClientId(text)).toBe(false);
  });
});
