import { decodeControl, isRequestId } from "@tendon/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("a device_control message", () => {
  it.each([
    { type: "device_control", action: "set_volume", volume: 50, session_id: "s" },
    { action: "mute" },
    { action: "set_volume", arguments: { volume: 50 } },
    { command: "mute" },
    { action: "mute", command: "unmute" },
    {
      function_call: { name: "self_set_volume", arguments: { volume: 50 } },
      timestamp: "x",
      request_id: "req_1",
    },
    { type: "device_control", function_call: { name: "x" } },
    { action: "mute", request_id: 1_790_000_000_000 },
    { action: "mute", session_id: "" },
    { action: "mute", timeoutMs: 1, device: "desk" },
    { action: "x", deep: { er: [1, { more: null }] } },
  ])("[CTL-1] accepts %j", (message) => {
    expect(decodeControl(message)).toEqual({ outcome: "ok", message });
  });

  it.each([
    [undefined, "object"],
    [null, "object"],
    ["mute", "object"],
    [[], "object"],
    [{}, "neither `action` nor `function_call`"],
    [{ type: "device_control" }, "neither"],
    [{ action: "mute", function_call: { name: "x" } }, "both"],
    [{ command: "mute", function_call: { name: "x" } }, "both"],
    [
      { type: "mcp", action: "mute" },
      "/type must be `device_control` or absent, not `mcp`; send JSON-RPC with `POST /api/v1/devices/{device}/mcp`",
    ],
    [{ type: "control", action: "mute" }, "/type must be `device_control` or absent, not `control`"],
    [{ type: 5, action: "mute" }, "/type must be `device_control` or absent"],
    [{ type: "mcp", payload: {} }, "/type must be `device_control`"],
    [{ action: "mute", arguments: 5 }, "/arguments"],
    [{ action: "" }, "/action"],
    [{ action: 5 }, "/action"],
    [{ command: null }, "/command"],
    [{ action: "x".repeat(65) }, "/action"],
    [{ function_call: null }, "/function_call"],
    [{ function_call: { arguments: {} } }, "/function_call"],
    [{ function_call: { name: "" } }, "/function_call/name"],
    [{ function_call: { name: "x", arguments: [] } }, "/function_call/arguments"],
    [{ action: "mute", request_id: "" }, "/request_id"],
    [{ action: "mute", request_id: null }, "/request_id"],
    [{ action: "mute", session_id: 5 }, "/session_id"],
    [{ action: "mute", device: "" }, "/device"],
    [{ action: "mute", timeoutMs: 0 }, "/timeoutMs"],
    [{ action: "mute", timeoutMs: 1.5 }, "/timeoutMs"],
    [{ action: "mute", timeoutMs: 300_001 }, "/timeoutMs"],
  ])("[CTL-1] rejects %j with the reason", (message, says) => {
    const decoded = decodeControl(message);
    expect(decoded.outcome).toBe("invalid");
    expect(decoded.outcome === "invalid" ? decoded.reason : "").toContain(says);
  });

  it("[CTL-4] never throws", () => {
    const fields = fc.record(
      {
        type: fc.oneof(fc.constant("device_control"), fc.anything()),
        action: fc.oneof(fc.string(), fc.anything()),
        command: fc.anything(),
        function_call: fc.oneof(fc.record({ name: fc.string(), arguments: fc.object() }), fc.anything()),
        request_id: fc.anything(),
        timeoutMs: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fields, fc.anything()), (value) => {
        const decoded = decodeControl(value);
        if (decoded.outcome === "ok") return decoded.message === value;
        return decoded.outcome === "invalid" && decoded.reason.length > 0;
      }),
    );
  });
});

describe("a request_id", () => {
  it.each(["r", "x".repeat(128), 0, -1, 1.5, 1_790_000_000_000])("%j can be returned in a reply", (value) => {
    expect(isRequestId(value)).toBe(true);
  });

  it.each(["", "x".repeat(129), null, undefined, {}, [], true, Number.NaN, Number.POSITIVE_INFINITY])(
    "%j cannot",
    (value) => {
      expect(isRequestId(value)).toBe(false);
    },
  );
});
