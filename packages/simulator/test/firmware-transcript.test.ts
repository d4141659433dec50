import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import type { VirtualDevice } from "../src/index.ts";
import { type Build, recordedDevice } from "./transcript-board.ts";

interface Raw {
  readonly raw: string;
  readonly encoding?: "latin1";
}

interface Case {
  readonly case: string;
  readonly build: Build;
  readonly device: number;
  readonly request: unknown;
  readonly replies: readonly unknown[];
}

const lines = readFileSync(new URL("fixtures/firmware-transcript.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n");
const cases = lines.map((line) => JSON.parse(line) as Case);

const descriptionBytes = new Map<string, number>();
for (const { replies } of cases) {
  for (const reply of replies as { result?: { tools?: { name: string; descriptionBytes: number }[] } }[]) {
    for (const tool of reply.result?.tools ?? []) descriptionBytes.set(tool.name, tool.descriptionBytes);
  }
}

const devices = new Map<number, VirtualDevice>();
const clock = new ManualClock();

function deviceOf(entry: Case): VirtualDevice {
  const known = devices.get(entry.device);
  if (known !== undefined) return known;
  const device = recordedDevice(entry.build, descriptionBytes, clock);
  devices.set(entry.device, device);
  return device;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && "raw" in value;
}

function requestBytes(request: unknown): Buffer {
  return isRaw(request)
    ? Buffer.from(request.raw, request.encoding ?? "utf8")
    : Buffer.from(JSON.stringify(request), "utf8");
}

/** A reply in the format of the recording: bytes if it is not JSON, lengths for tool descriptions. */
function asRecorded(payload: Buffer, expected: unknown): unknown {
  if (isRaw(expected)) {
    const encoding = expected.encoding ?? "utf8";
    return expected.encoding === undefined
      ? { raw: payload.toString(encoding) }
      : { raw: payload.toString(encoding), encoding };
  }
  const reply = JSON.parse(payload.toString("utf8")) as { result?: { tools?: Record<string, unknown>[] } };
  if (reply.result?.tools !== undefined) {
    reply.result.tools = reply.result.tools.map(({ name, description, ...rest }) => ({
      name,
      descriptionBytes: Buffer.byteLength(String(description)),
      ...rest,
    }));
  }
  return reply;
}

function systemInfoKeys(value: unknown): unknown {
  const reply = structuredClone(value) as { result: { content: { text: string }[] } };
  for (const item of reply.result.content) item.text = keysOf(JSON.parse(item.text));
  return reply;
}

function keysOf(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(keysOf))].join(",")}]`;
  if (typeof value !== "object" || value === null) return typeof value;
  return `{${Object.entries(value)
    .map(([key, inner]) => `${key}:${keysOf(inner)}`)
    .join(",")}}`;
}

describe("replay of the firmware's MCP server", () => {
  afterAll(async () => {
    for (const device of devices.values()) await device.stop();
  });

  it("has every case of the recording", () => {
    expect(cases).toHaveLength(409);
    expect(new Set(cases.map((entry) => entry.case)).size).toBe(409);
  });

  for (const entry of cases) {
    it(entry.case, async () => {
      const device = deviceOf(entry);
      const payloads: Buffer[] = [];
      const off = device.on("reply", ({ payload }) => payloads.push(payload));
      device.receiveMcp(requestBytes(entry.request));
      await device.idle();
      off();
      // The recording waited until a backlight fade had ended.
      clock.advance(500);
      let seen = payloads.map((payload, index) => asRecorded(payload, entry.replies[index]));
      let recorded = entry.replies;
      if (entry.case.startsWith("sysinfo")) {
        seen = seen.map(systemInfoKeys);
        recorded = recorded.map(systemInfoKeys);
      }
      expect(seen).toEqual(recorded);
      // Also compares the order of the members, which toEqual ignores.
      expect(JSON.stringify(seen)).toBe(JSON.stringify(recorded));
    });
  }
});
