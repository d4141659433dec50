import { type Clock, type DeviceHttp, type HttpOutcome, ToolImage, VirtualDevice } from "../src/index.ts";

/** The board with stubs on which the firmware was recorded. */
export const recordedBoard = {
  name: "linux-host",
  firmware: "2.4.2",
  mac: "02:00:00:00:00:01",
  clientId: "03142536-4758-497a-8b9c-adbecfe0f102",
  network: { type: "wifi", ssid: "host-wifi", rssi: -55 },
} as const;

const explained = '{"success": true, "text": "a \\"quoted\\" photo \\u00e9\\n"}';

function answer(status: number, body: Buffer | undefined): HttpOutcome {
  return {
    kind: "answered",
    status,
    contentLength: body?.length ?? 100,
    read: async () =>
      await Promise.resolve(
        body === undefined ? { kind: "broken-off" as const } : { kind: "whole" as const, bytes: body },
      ),
    discard: () => undefined,
  };
}

function scripted(url: string, otherwise: string): HttpOutcome {
  if (!/^https?:\/\//.test(url) || url.includes("unreachable")) {
    return { kind: "unopened", cause: "scripted" };
  }
  const path = new URL(url).pathname;
  const status = /^\/status\/(\d+)$/.exec(path)?.[1];
  if (status !== undefined) return answer(Number(status), Buffer.alloc(0));
  if (path === "/png") return answer(200, Buffer.from("\x89PNG\r\n\x1a\n", "latin1"));
  if (path === "/empty") return answer(200, Buffer.alloc(0));
  if (path === "/firmware.bin") return answer(200, Buffer.alloc(5000, 0xe9));
  if (path === "/read-error") return answer(200, undefined);
  return answer(200, Buffer.from(otherwise));
}

export const scriptedHttp: DeviceHttp = {
  get: async (url) => await Promise.resolve(scripted(url, "OK")),
  post: async (url) => await Promise.resolve(scripted(url, explained)),
};

export type Build = "plain" | "many-tools" | "big-tool";

export function recordedDevice(
  build: Build,
  descriptionBytes: ReadonlyMap<string, number>,
  clock: Clock,
): VirtualDevice {
  const device = new VirtualDevice({
    clock,
    board: recordedBoard,
    http: scriptedHttp,
    picture: async () => await Promise.resolve(Buffer.from("not looked at")),
    timing: { rebootDelayMs: 0, bootMs: 0 },
    autoReconnect: false,
  });
  if (build === "many-tools") addDummies(device, descriptionBytes);
  if (build === "big-tool") device.addTool("self.big.tool", "b".repeat(9500), {}, () => true);
  return device;
}

export function addDummies(device: VirtualDevice, descriptionBytes: ReadonlyMap<string, number>): void {
  const name = (index: number): string => `self.dummy.tool_${String(index).padStart(2, "0")}`;
  const words = (index: number): string => "d".repeat(descriptionBytes.get(name(index)) ?? 528);
  const integer = { type: "integer" } as const;
  device
    .addTool(name(0), words(0), { enable: { type: "boolean" } }, ({ enable }) => enable)
    .addTool(name(1), words(1), { enable: { type: "boolean", default: true } }, ({ enable }) => enable)
    .addTool(name(2), words(2), { n: integer }, ({ n }) => n)
    .addTool(name(3), words(3), { n: { ...integer, default: 7 } }, ({ n }) => n)
    .addTool(name(4), words(4), { n: { ...integer, default: 5, minimum: -10, maximum: 10 } }, ({ n }) => n)
    .addTool(name(5), words(5), { s: { type: "string", default: 'def "quoted"' } }, ({ s }) => s)
    .addTool(
      name(6),
      words(6),
      { a: { ...integer, minimum: 0, maximum: 9 }, b: { type: "boolean" }, c: { type: "string" } },
      ({ a, b, c }) => ({ a, b, c }),
    )
    .addTool(name(7), words(7), {}, () => new ToolImage("image/png", Buffer.from("\x89PNG-host", "latin1")))
    .addTool(name(8), words(8), {}, () => fail("plain failure"))
    .addTool(name(9), words(9), {}, () => fail('failure with "quotes" and a \\ backslash'))
    .addTool(name(10), words(10), {}, (_args, call) => call.property("absent"))
    .addTool(name(11), words(11), {}, () => "")
    .addTool(name(12), words(12), {}, () => 'line1\nline2\t"q" 中文 🙂')
    .addTool(name(13), words(13), {}, () => "x".repeat(70_000));
  for (let index = 14; index < 40; index += 1) device.addTool(name(index), words(index), {}, () => true);
}

function fail(message: string): never {
  throw new RangeError(message);
}
