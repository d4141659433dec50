import { afterEach, describe, expect, it } from "vitest";
import { type BoardOptions, ToolImage, VirtualDevice } from "../src/index.ts";

const devices: VirtualDevice[] = [];

afterEach(async () => {
  for (const device of devices.splice(0)) await device.stop();
});

function make(board: BoardOptions = {}): VirtualDevice {
  const device = new VirtualDevice({ board });
  devices.push(device);
  return device;
}

interface Reply {
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly tools?: readonly {
      readonly name: string;
      readonly inputSchema: unknown;
      readonly annotations?: unknown;
    }[];
    readonly serverInfo?: unknown;
  };
  readonly error?: { readonly message: string };
}

async function ask(device: VirtualDevice, method: string, params?: object): Promise<Reply> {
  const reply = device.waitFor("reply");
  device.receiveMcp(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return JSON.parse((await reply).payload.toString()) as Reply;
}

async function call(device: VirtualDevice, name: string, args: object = {}): Promise<string> {
  const { result, error } = await ask(device, "tools/call", { name, arguments: args });
  return result?.content?.[0]?.text ?? `error: ${error?.message}`;
}

async function names(device: VirtualDevice, withUserTools: boolean): Promise<string[]> {
  const { result } = await ask(device, "tools/list", { withUserTools });
  return (result?.tools ?? []).map(({ name }) => name);
}

describe("a board's equipment decides its tools and its status", () => {
  it("a small monochrome display", async () => {
    const device = make({ screen: { width: 128, height: 64, monochrome: true }, camera: false });
    expect(await names(device, true)).toEqual([
      "self.get_device_status",
      "self.audio_speaker.set_volume",
      "self.get_system_info",
      "self.reboot",
      "self.upgrade_firmware",
      "self.screen.get_info",
      "self.screen.snapshot",
      "self.screen.preview_image",
      "self.assets.set_download_url",
    ]);
    expect(JSON.parse(await call(device, "self.get_device_status"))).toMatchObject({ screen: {} });
    expect(await call(device, "self.screen.get_info")).toBe('{"width":128,"height":64,"monochrome":true}');
  });

  it("no screen at all", async () => {
    const device = make({ screen: false, camera: false });
    expect((await names(device, true)).filter((name) => name.startsWith("self.screen"))).toEqual([]);
    expect(JSON.parse(device.systemInfo())).toMatchObject({ display: { width: 0, height: 0 } });
  });

  it("a chip too small for snapshots", async () => {
    expect(await names(make({ snapshot: false }), true)).not.toContain("self.screen.snapshot");
  });

  it("a battery, a thermometer and a weak signal", async () => {
    const device = make({
      battery: { level: 50, charging: false },
      chipTemperature: 41.5,
      network: { type: "wifi", ssid: "s", rssi: -80 },
    });
    expect(await call(device, "self.get_device_status")).toBe(
      '{"audio_speaker":{"volume":70},"screen":{"brightness":75,"theme":"light"},"battery":{"level":50,"charging":false},"network":{"type":"wifi","ssid":"s","signal":"weak"},"chip":{"temperature":41.5}}',
    );
    device.state.set("network.rssi", -65);
    device.state.set("battery.level", 49);
    expect(await call(device, "self.get_device_status")).toContain('"level":49');
    expect(await call(device, "self.get_device_status")).toContain('"medium"');
  });

  it.each([
    [
      { type: "cellular", carrier: "c", signal: "very weak" },
      { type: "cellular", carrier: "c", signal: "very weak" },
    ],
    [
      { type: "ethernet", ip: "192.0.2.4" },
      { type: "ethernet", state: "connected", ip: "192.0.2.4" },
    ],
    [{ type: "ethernet" }, { type: "ethernet", state: "connected" }],
  ] as const)("network %j", async (network, status) => {
    const device = make({ network });
    expect(JSON.parse(await call(device, "self.get_device_status"))).toMatchObject({ network: status });
    expect(JSON.parse(device.systemInfo())).toMatchObject({ board: { name: "virtual-esp32s3" } });
  });

  it("rejects impossible boards", () => {
    expect(() => make({ name: "My Board" })).toThrow(/board name/);
    expect(() => make({ mac: "02:00:00:00:00:0G" })).toThrow(/mac/);
    expect(() => make({ clientId: "x" })).toThrow(/client id/);
    expect(() => make({ screen: { width: 0, height: 4 } })).toThrow(/screen/);
  });

  it("generates an identity", () => {
    const [one, two] = [make(), make()];
    expect(one.id).toMatch(/^02(:[0-9a-f]{2}){5}$/);
    expect(one.id).not.toBe(two.id);
    expect(one.board.clientId).not.toBe(two.board.clientId);
  });
});

describe("custom tools", () => {
  it("are listed between the common and the user-only tools, later ones at the end", async () => {
    const device = make();
    device.addTool("self.lamp.set", "", { on: { type: "boolean" } }, ({ on }) =>
      device.state.set("lamp.on", on),
    );
    device.addUserOnlyTool("self.lamp.reset", "", {}, () => true);
    const before = await names(device, true);
    expect(before.slice(4, 8)).toEqual([
      "self.camera.take_photo",
      "self.lamp.set",
      "self.lamp.reset",
      "self.get_system_info",
    ]);
    expect(await names(device, false)).not.toContain("self.lamp.reset");
    device.addTool("self.late", "", {}, () => true);
    expect((await names(device, true)).at(-1)).toBe("self.late");
    expect(await call(device, "self.lamp.set", { on: true })).toBe("true");
    expect(device.state.get("lamp.on")).toBe(true);
  });

  it("may be asynchronous, return anything the firmware can, and fail", async () => {
    const device = make();
    device.addTool("a", "", {}, async () => await Promise.resolve(42.9));
    device.addTool("b", "", {}, async () => await Promise.reject(new RangeError("no way")));
    device.addTool("c", "", {}, () => [1, "two", { three: null }, 1e15, 0.1, -1e-7]);
    device.addTool("d", "", {}, () => undefined);
    device.addTool("e", "", {}, () => "cut\0here");
    expect(await call(device, "a")).toBe("42");
    expect(await call(device, "b")).toBe("error: no way");
    expect(await call(device, "c")).toBe('[1,"two",{"three":null},1e+15,0.1,-1e-07]');
    expect(await call(device, "d")).toBe("true");
    expect(await call(device, "e")).toBe("cut");
  });

  it("accept argument names in any script", async () => {
    const device = make();
    device.addTool("self.lamp.shine", "亮", { 亮度: { type: "integer" } }, ({ 亮度 }) => 亮度);
    expect(await call(device, "self.lamp.shine", { 亮度: 30 })).toBe("30");
    expect(await call(device, "self.lamp.shine", { 亮: 30 })).toBe("error: Missing valid argument: 亮度");
  });

  it("are rejected when the firmware could not register them", () => {
    const device = make();
    const range = (property: object) => () =>
      device.addTool("x", "", { n: { type: "integer", ...property } }, () => true);
    expect(range({ minimum: 1 })).toThrow(/tool x, property n: give both minimum and maximum/);
    expect(range({ minimum: 1, maximum: 3, default: 4 })).toThrow(/outside 1..3/);
    expect(range({ minimum: 3, maximum: 1 })).toThrow(/the minimum 3 is above the maximum 1/);
    expect(range({ default: 1.5 })).toThrow(/not a 32-bit integer/);
    expect(() => device.addTool("", "", {}, () => true)).toThrow(/needs a name/);
  });

  it("are rejected at once, with the name, when the board already has one of that name", async () => {
    const device = make();
    const add = (name: string) => () => device.addTool(name, "", {}, () => true);
    device.addTool("self.lamp.on", "", {}, () => true);
    const twice = /tool self\.lamp\.on: there already is a tool with this name; choose another one/;
    expect(add("self.lamp.on")).toThrow(twice);
    expect(() => device.addUserOnlyTool("self.lamp.on", "", {}, () => true)).toThrow(twice);
    const stock = ["self.get_device_status", "self.camera.take_photo", "self.reboot"];
    for (const name of stock) {
      expect(add(name)).toThrow(
        `tool ${name}: the stock firmware has a tool with this name; choose another one`,
      );
    }
    const listed = await names(device, true);
    expect(new Set(listed).size).toBe(listed.length);
    expect(add("self.lamp.on")).toThrow(twice);
    expect(add("self.reboot")).toThrow(/tool self\.reboot: the stock firmware has a tool with this name/);
  });

  it("may have the name of a stock tool that the board lacks", async () => {
    const device = make({ camera: false });
    device.addTool("self.camera.take_photo", "", {}, () => "drawn");
    expect(await call(device, "self.camera.take_photo")).toBe("drawn");
  });

  it.each<[args: unknown[], reason: RegExp]>([
    [[7, "", {}, () => true], /a tool needs a name, as a text; got 7/],
    [["x", 7, {}, () => true], /tool x: the description must be a text, got 7/],
    [["x", "", 7, () => true], /tool x: the properties must be an object or a Map, got 7/],
    [["x", "", [], () => true], /tool x: the properties must be an object or a Map, got \[\]/],
    [
      ["x", "", { n: "integer" }, () => true],
      /tool x, property n: must be an object such as \{ type: "boolean" \}/,
    ],
    [["x", "", { n: { type: "float" } }, () => true], /property n: the type must be .*, got "float"/],
    [
      ["x", "", { n: { type: "string", default: 1 } }, () => true],
      /property n: the default must be a text, got 1/,
    ],
    [
      ["x", "", { n: { type: "boolean", default: "no" } }, () => true],
      /property n: the default must be true or false, got "no"/,
    ],
    [["x", "", { n: { type: "string", minimum: 1 } }, () => true], /property n: only integers have a range/],
    [["x", "", { n: { type: "integer", max: 1 } }, () => true], /property n: unknown key max/],
    [["x", "", {}], /tool x: the last argument must be the function that runs it/],
  ])("are rejected with a reason when a program passes wrong arguments: %j", (args, reason) => {
    const add: (...values: never[]) => unknown = make().addTool.bind(make());
    expect(() => add(...(args as never[]))).toThrow(reason);
  });

  it("fill a page up to the firmware's limit exactly", async () => {
    const frame = JSON.stringify({
      name: "x",
      description: "",
      inputSchema: { type: "object", properties: {} },
    });
    const room = 8_000 - '{"tools":['.length - ",".length - 30 - frame.length;
    const page = async (bytes: number): Promise<Reply> => {
      const device = make();
      device.addTool("x", "d".repeat(bytes), {}, () => true);
      return await ask(device, "tools/list", { cursor: "x" });
    };
    expect((await page(room)).result?.tools).toHaveLength(1);
    expect((await page(room + 1)).error?.message).toBe("Failed to add tool x because of payload size limit");
  });

  it("are reported in events", async () => {
    const device = make();
    const seen: string[] = [];
    const off = device.observe((event) => seen.push(event.kind));
    await call(device, "self.audio_speaker.set_volume", { volume: 3 });
    off();
    await call(device, "self.audio_speaker.set_volume", { volume: 4 });
    expect(seen).toEqual(["call", "state", "call-finished", "frame-lost", "reply"]);
  });
});

it("an image of another copy of the package is an image too, as that of a tools file is for the bundled command", async () => {
  const copy: string = "../src/esp32/tool.ts?copy";
  const { ToolImage: Other } = (await import(copy)) as typeof import("../src/esp32/tool.ts");
  expect(Other).not.toBe(ToolImage);
  const device = make();
  device.addTool(
    "self.picture",
    "A picture.",
    {},
    () => new Other("image/png", Buffer.from("\x89PNG", "latin1")),
  );
  const { result } = await ask(device, "tools/call", { name: "self.picture" });
  expect(result?.content).toEqual([
    { type: "image", image: '{"type":"image","mimeType":"image/png","data":"iVBORw=="}' },
  ]);
});
