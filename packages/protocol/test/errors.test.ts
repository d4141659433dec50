import { errorTitles, isErrorCode } from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";

describe("an error code", () => {
  test.each(Object.entries(errorTitles))("%s is written in lower case and has a title", (code, title) => {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(title).toMatch(/^[A-Z].*[^.]$/);
    expect(isErrorCode(code)).toBe(true);
  });

  test.each(["", "DEVICE_OFFLINE", "toString", "__proto__", "constructor"])("is not %j", (text) => {
    expect(isErrorCode(text)).toBe(false);
  });

  it("has a unique title", () => {
    const titles = Object.values(errorTitles);
    expect(new Set(titles).size).toBe(titles.length);
  });
});
