/** The gateway with the simulated firmware, one fault at a time: two implementations of the same protocol. */
import {
  ConnectError,
  faultList,
  faultsNamed,
  VirtualDevice,
  type VirtualDeviceOptions,
} from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { openSite, type Site } from "./site.ts";

const volume = "self.audio_speaker.set_volume";
const status = "self.get_device_status";

async function start(
  site: Site,
  faults: readonly string[] = [],
  options: VirtualDeviceOptions = {},
): Promise<VirtualDevice> {
  const device = new VirtualDevice({
    url: site.tendon.addresses.deviceWebSocket,
    autoReconnect: false,
    timing: { rebootDelayMs: 1, bootMs: 1 },
    ...options,
    faults: faultsNamed(faults),
  });
  onTestFinished(() => device.stop());
  await device.connect();
  return device;
}

async function listed(site: Site, device: VirtualDevice): Promise<{ [key: string]: unknown }> {
  return await until(async () => {
    const view = await site.device(device.id);
    return view["toolsComplete"] === true || view["toolsProblem"] !== null ? view : undefined;
  }, "a list");
}

describe("a virtual device without faults", () => {
  it("[MCP-3] shows its board, its tools and their audience", async () => {
    const site = await openSite();
    const device = await start(site, [], { board: { name: "desk-pal", firmware: "2.4.2" } });
    expect(await listed(site, device)).toMatchObject({
      board: "desk-pal",
      firmware: "2.4.2",
      toolsProblem: null,
    });
    const names = await site.toolNames(device.id);
    expect(names).toEqual(expect.arrayContaining([status, volume, "self.reboot", "self.upgrade_firmware"]));
    const { body } = await site.rest("GET", `/devices/${device.id}/tools`);
    const open = (body["tools"] as { name: string }[]).map(({ name }) => name);
    expect(open).toContain(volume);
    expect(open).not.toContain("self.reboot");
  });

  it("executes calls, and its status shows the result", async () => {
    const site = await openSite();
    const device = await start(site);
    expect((await site.call(device.id, volume, { volume: 33 })).body["result"]).toMatchObject({
      content: [{ type: "text", text: "true" }],
    });
    expect(device.state.get("volume")).toBe(33);
    await site.call(device.id, status);
    expect((await site.device(device.id))["status"]).toMatchObject({
      value: { audio_speaker: { volume: 33 } },
    });
  });

  it("[ACC-5] uses no default address: that of the stock firmware is a sentence", async () => {
    const site = await openSite();
    const device = await start(site);
    await listed(site, device);
    const { status: answered, body } = await site.call(device.id, "self.upgrade_firmware");
    expect([answered, body["code"]]).toEqual([422, "arguments_invalid"]);
    expect(body["detail"]).toBe("/url is required: its default is not an address");
  });

  it("[MCP-13] completes a reboot by disconnecting", async () => {
    const site = await openSite();
    const device = await start(site);
    expect((await site.call(device.id, "self.reboot")).status).toBe(200);
    await until(async () => (await site.device(device.id))["online"] === false);
  });

  it("works for many devices at once", async () => {
    const site = await openSite();
    const devices = await Promise.all(Array.from({ length: 20 }, () => start(site)));
    const answers = await Promise.all(
      devices.flatMap((device) => [10, 20, 30].map((to) => site.call(device.id, volume, { volume: to }))),
    );
    expect(new Set(answers.map(({ status: code }) => code))).toEqual(new Set([200]));
    expect(await site.metric("tendon_devices_online")).toBe(20);
  });
});

describe("a virtual device with a fault", () => {
  it.each([
    "broken-json",
    "duplicate-reply",
    "foreign-ids",
    "old-firmware",
    "unknown-kinds",
    "many-pages",
    "no-pong",
    "notifications=5",
    "slow=20",
  ])("%s is listed completely", async (fault) => {
    const site = await openSite();
    const device = await start(site, [fault]);
    expect(await listed(site, device)).toMatchObject({ online: true, toolsComplete: true });
    expect(await site.toolNames(device.id)).toContain(volume);
  });

  it.each(["duplicate-reply", "foreign-ids", "old-firmware", "unknown-kinds", "notifications=5", "slow=20"])(
    "%s answers every call with the right result",
    async (fault) => {
      const site = await openSite();
      const device = await start(site, [fault]);
      const calls = Array.from({ length: 10 }, (_, at) => site.call(device.id, volume, { volume: at }));
      for (const { status: code, body } of await Promise.all(calls)) {
        expect(code).toBe(200);
        expect(body["result"]).toMatchObject({ content: [{ type: "text", text: "true" }], isError: false });
      }
    },
  );

  it("[MCP-4] many-pages shows all of its more than 200 tools", async () => {
    const site = await openSite();
    const device = await start(site, ["many-pages"]);
    await listed(site, device);
    const names = await site.toolNames(device.id);
    expect(names.filter((name) => name.startsWith("self.pages."))).toHaveLength(200);
  });

  it("[RPC-6] broken-json fails its calls at once, with its message", async () => {
    const site = await openSite();
    const device = await start(site, ["broken-json"]);
    const { status: code, body } = await site.call(device.id, volume, { volume: 1 });
    expect([code, body["code"]]).toEqual([502, "device_error"]);
    expect(body["detail"]).toContain('"valve"');
  });

  it("[MCP-4] cursor-loop shows its tools, marked incomplete", async () => {
    const site = await openSite();
    const device = await start(site, ["cursor-loop"]);
    const view = await listed(site, device);
    expect(view["toolsProblem"]).toContain("was repeated");
    expect((await site.call(device.id, volume, { volume: 5 })).status).toBe(200);
  });

  it("[MCP-4] oversize-tool does not hide the user-only tools after it", async () => {
    const site = await openSite();
    const device = await start(site, ["oversize-tool"]);
    const view = await listed(site, device);
    expect(view["toolsProblem"]).toContain("payload size limit");
    expect(await site.toolNames(device.id)).toEqual(expect.arrayContaining([volume, "self.reboot"]));
  });

  it("[DEV-5] no-mcp is online without tools", async () => {
    const site = await openSite();
    const device = await start(site, ["no-mcp"]);
    await until(async () => (await site.device(device.id))["online"] === true);
    expect(await site.device(device.id)).toMatchObject({ mcp: false, toolCount: 0 });
    expect((await site.call(device.id, volume, { volume: 1 })).body["code"]).toBe("tool_unknown");
  });

  it("[MCP-7] mute is online, with the reason for the empty tool list", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = await start(site, ["mute"]);
    await until(async () => (await site.device(device.id))["online"] === true);
    clock.advance(20_000);
    expect(await listed(site, device)).toMatchObject({
      online: true,
      toolsProblem: "the device does not answer MCP",
    });
  });

  it("[CALL-2] dropped-reply times out on the device, and the next call goes through", async () => {
    const site = await openSite();
    const device = await start(site, ["dropped-reply=2"]);
    const outcomes: unknown[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { status: code, body } = await site.call(device.id, volume, { volume: 1 }, { timeoutMs: 200 });
      outcomes.push(code === 200 ? "ok" : body["phase"]);
    }
    expect(outcomes).toEqual(["ok", "device", "ok", "device"]);
  });

  it("[RPC-5] late-reply is reported as late", async () => {
    const site = await openSite();
    const device = await start(site, ["late-reply=300"]);
    const events = await site.events("?type=call.late");
    const { body } = await site.call(device.id, volume, { volume: 1 }, { timeoutMs: 100 });
    expect(body["code"]).toBe("device_timeout");
    expect((await events.next()).data).toMatchObject({ callId: body["callId"], tool: volume, failed: false });
  });

  it("[CALL-4] reboot-mid-call fails the call and the queued ones", async () => {
    const site = await openSite();
    const device = await start(site, ["reboot-mid-call=50"]);
    await listed(site, device);
    const answers = await Promise.all([
      site.call(device.id, volume, { volume: 1 }),
      site.call(device.id, volume, { volume: 2 }),
    ]);
    expect(answers.map(({ body }) => body["code"])).toEqual(["device_disconnected", "device_disconnected"]);
    expect(answers.map(({ body }) => body["sent"]).sort()).toEqual([false, true]);
  });

  it("[DEV-3] no-hello is closed after 10 s", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = new VirtualDevice({
      url: site.tendon.addresses.deviceWebSocket,
      autoReconnect: false,
      faults: faultsNamed(["no-hello"]),
    });
    onTestFinished(() => device.stop());
    const before = clock.pending;
    const failed = device.connect().catch((error: unknown) => error);
    await until(() => clock.pending > before);
    clock.advance(10_000);
    expect(await failed).toBeInstanceOf(ConnectError);
    expect(await site.metric('tendon_connections_refused_total{code="device_timeout"}')).toBe(1);
  });

  it("has the same fault names as the command line's help", () => {
    const tested = [
      "slow",
      "mute",
      "dropped-reply",
      "late-reply",
      "broken-json",
      "cursor-loop",
      "oversize-tool",
    ];
    expect(faultList.map(({ name }) => name)).toEqual(expect.arrayContaining(tested));
  });
});
