import {
  agentLimits,
  type Bound,
  firmwareLimits,
  isErrorCode,
  limits,
  visionLimits,
  voiceLimits,
} from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";

const bounds: readonly (readonly [string, Bound])[] = [
  ...Object.entries(limits),
  ...Object.entries(visionLimits),
  ...Object.entries(voiceLimits),
  ...Object.entries(agentLimits),
  ...Object.entries(firmwareLimits),
];

describe("a bound", () => {
  test.each(bounds)("%s is a positive whole number", (_, { max }) => {
    expect(max).toBeGreaterThan(0);
    expect(Number.isSafeInteger(max)).toBe(true);
  });

  test.each(bounds)("%s has a reason", (_, { reason }) => {
    expect(reason).toMatch(/\w+ \w+/);
  });

  test.each(bounds)("%s has a known error code", (_, { error }) => {
    expect(isErrorCode(error)).toBe(true);
  });
});

describe("bounds are consistent", () => {
  it("a frame fits the firmware's largest MQTT message", () => {
    expect(limits.deviceFrameBytes.max).toBeGreaterThan(70_000);
  });

  it("a REST body fits a call's arguments, and a frame fits a schema", () => {
    expect(limits.restBodyBytes.max).toBeGreaterThan(limits.callArgumentBytes.max);
    expect(limits.deviceFrameBytes.max).toBeGreaterThan(limits.toolSchemaBytes.max);
  });

  it("arguments and schemas reach their own depth bound before JSON's", () => {
    expect(limits.jsonDepth.max).toBeGreaterThan(limits.callArgumentDepth.max);
    expect(limits.jsonDepth.max).toBeGreaterThan(2 * limits.toolSchemaDepth.max);
  });

  it("a burst is more than a second of the rate", () => {
    expect(limits.deviceFrameBurst.max).toBeGreaterThan(limits.deviceFramesPerSecond.max);
  });
});
