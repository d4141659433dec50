import { decodeDeviceFrame, speaksMcp } from "@tendon/protocol";
import { describe, expect, test } from "vitest";

describe("MCP is used only with a device whose feature mcp is exactly true", () => {
  test.each([
    ["true", { mcp: true }, true],
    ["true beside others", { aec: true, mcp: true, glyph_push: false }, true],
    ["false", { mcp: false }, false],
    ["1", { mcp: 1 }, false],
    ["the text true", { mcp: "true" }, false],
    ["an object", { mcp: {} }, false],
    ["null", { mcp: null }, false],
    ["nothing", {}, false],
    ["no features", undefined, false],
  ])("%s", (_, features, speaks) => {
    const decoded = decodeDeviceFrame(JSON.stringify({ type: "hello", features }));
    if (decoded.outcome !== "ok" || decoded.message.type !== "hello")
      throw new TypeError("hello must decode");
    expect(speaksMcp(decoded.message)).toBe(speaks);
  });
});
