import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { faultsNamed, VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { type BrokerConnection, ScriptedBroker } from "./scripted-broker.ts";
import { type OtaRequest, ScriptedOta } from "./scripted-ota.ts";
import { ScriptedServer } from "./scripted-server.ts";

let ota: ScriptedOta;
let broker: ScriptedBroker;
let server: ScriptedServer;
let clock: ManualClock;
let device: VirtualDevice;

beforeEach(async () => {
  ota = await ScriptedOta.start();
  broker = await ScriptedBroker.start();
  server = await ScriptedServer.start();
  clock = new ManualClock();
});

afterEach(async () => {
  await device.stop();
  expect(clock.pending).toBe(0);
  await ota.stop();
  await broker.stop();
  await server.stop();
});

function make(options: VirtualDeviceOptions = {}): VirtualDevice {
  device = new VirtualDevice({ otaUrl: ota.url, clock, timing: { rebootDelayMs: 0 }, ...options });
  return device;
}

async function overMqtt(): Promise<BrokerConnection> {
  const connected = make().connect();
  (await ota.requests.take()).answer(200, { mqtt: broker.settings });
  await connected;
  return await broker.connections.take();
}

async function nextBoot(): Promise<OtaRequest> {
  clock.advance(2_000);
  return await ota.requests.take();
}

describe("a device that knows only the OTA address", () => {
  it("connects to the broker of its settings", async () => {
    const provisioned: string[] = [];
    make().on("provisioned", ({ transport }) => provisioned.push(transport));
    const connected = device.connect();
    (await ota.requests.take()).answer(200, { mqtt: broker.settings });
    await connected;
    const connection = await broker.connections.take();
    expect(connection.connect.clientId).toBe(broker.settings.client_id);
    expect(provisioned).toEqual(["mqtt"]);
    connection.mcp({ id: 1, method: "initialize" });
    expect(await connection.json()).toMatchObject({ payload: { id: 1 } });
  });

  it("connects to the WebSocket server of its settings", async () => {
    const connected = make().connect();
    const settings = { url: server.url, token: "t", version: 3 };
    (await ota.requests.take()).answer(200, { websocket: settings });
    const connection = await server.connections.take();
    expect(connection.request.headers).toMatchObject({
      authorization: "Bearer t",
      "protocol-version": "3",
    });
    await connection.welcome();
    await connected;
  });

  it("shows its code and connects once it is approved", async () => {
    const shown = make().waitFor("activation-code");
    const connected = device.connect();
    (await ota.requests.take()).answer(200, { activation: { code: "123456", challenge: "c" } });
    expect(await shown).toMatchObject({ code: "123456" });
    (await ota.requests.take()).answer(200);
    (await ota.requests.take()).answer(200, { mqtt: broker.settings });
    await connected;
  });

  it("requests its settings at every boot and keeps missing ones, but not after a lost connection", async () => {
    const first = await overMqtt();
    const lost = device.waitFor("disconnected");
    first.socket.destroy();
    await lost;
    clock.advance(10_000);
    await broker.connections.take();
    expect(ota.requests.waiting).toEqual([]);
    device.reboot();
    (await nextBoot()).answer(200, { mqtt: { username: "renamed" } });
    const second = await broker.connections.take();
    expect(second.connect).toMatchObject({ clientId: first.connect.clientId, username: "renamed" });
  });

  it("can change its transport with a reboot", async () => {
    await overMqtt();
    device.reboot();
    (await nextBoot()).answer(200, { websocket: { url: server.url } });
    await (await server.connections.take()).welcome();
    expect(device.audioOpen).toBe(true);
  });

  it("can open audio first", async () => {
    const opened = make().openAudio();
    (await ota.requests.take()).answer(200, { mqtt: broker.settings });
    const connection = await broker.connections.take();
    expect(await connection.json()).toMatchObject({ type: "hello" });
    connection.hello(9);
    await opened;
    expect(device.phase).toBe("listening");
  });

  it("installs newer firmware and runs it", async () => {
    const connected = make({ board: { firmware: "2.4.2" } }).connect();
    const offer = { version: "2.5.0", url: `${ota.url}firmware.bin` };
    const first = await ota.requests.take();
    expect(first.headers["user-agent"]).toContain("/2.4.2");
    const reboot = device.waitFor("reboot");
    first.answer(200, { mqtt: broker.settings, firmware: offer });
    const download = await ota.requests.take();
    expect(download.method).toBe("GET");
    download.response.writeHead(200, { "content-length": "5" }).end("image");
    expect(await reboot).toMatchObject({ cause: "firmware upgrade" });
    const second = await nextBoot();
    expect(second.headers["user-agent"]).toContain("/2.5.0");
    second.answer(200, { mqtt: broker.settings, firmware: offer });
    await connected;
    const connection = await broker.connections.take();
    connection.mcp({ id: 1, method: "initialize" });
    expect(await connection.json()).toMatchObject({
      payload: { result: { serverInfo: { version: "2.5.0" } } },
    });
  });

  it.each([
    ["rolled-back-update", true],
    ["dark-update", false],
  ])("runs the old firmware with the fault %s: %s", async (fault, back) => {
    make({ board: { firmware: "2.4.2" }, faults: faultsNamed([fault]) })
      .connect()
      .catch(() => undefined);
    const offer = { version: "2.5.0", url: `${ota.url}firmware.bin` };
    (await ota.requests.take()).answer(200, { mqtt: broker.settings, firmware: offer });
    const reboot = device.waitFor("reboot");
    (await ota.requests.take()).response.writeHead(200, { "content-length": "5" }).end("image");
    await reboot;
    expect(device.board.firmware).toBe("2.4.2");
    if (back) expect((await nextBoot()).headers["user-agent"]).toContain("/2.4.2");
    else expect(clock.pending).toBe(0);
  });

  it("rejects an image that is shorter than announced", async () => {
    const connected = make().connect();
    const offer = { version: "99", url: `${ota.url}firmware.bin` };
    (await ota.requests.take()).answer(200, { mqtt: broker.settings, firmware: offer });
    const { response } = await ota.requests.take();
    response.writeHead(200, { "content-length": "50" }).write("image");
    response.destroy();
    await connected;
    expect(device.board.firmware).not.toBe("99");
  });

  it("keeps its firmware if the download fails", async () => {
    const connected = make().connect();
    const offer = { version: "99", url: `${ota.url}firmware.bin` };
    (await ota.requests.take()).answer(200, { mqtt: broker.settings, firmware: offer });
    (await ota.requests.take()).answer(404);
    await connected;
  });

  it("crashes at every boot on a reply that its flash cannot store", async () => {
    const fatal = { mqtt: { much_too_long_a_name: "x" } };
    make()
      .connect()
      .catch(() => undefined);
    for (let boot = 0; boot < 3; boot += 1) {
      const reboot = device.waitFor("reboot");
      (boot === 0 ? await ota.requests.take() : await nextBoot()).answer(200, fatal);
      expect(await reboot).toMatchObject({ cause: expect.stringContaining("too long a name") as string });
    }
  });

  it("crashes on a port that is not a number", async () => {
    make()
      .connect()
      .catch(() => undefined);
    const reboot = device.waitFor("reboot");
    (await ota.requests.take()).answer(200, { mqtt: { endpoint: "host:mqtt" } });
    await reboot;
  });

  it.each([
    ["no settings at all", 200, {}, "no_transport"],
    ["a useless WebSocket address", 200, { websocket: { url: "nowhere" } }, "no_transport"],
    ["a body that is too long", 200, { x: "y".repeat(9_000) }, "ota_hung"],
  ])("rejects after %s", async (_name, status, body, code) => {
    const connected = make().connect();
    (await ota.requests.take()).answer(status, body);
    await expect(connected).rejects.toMatchObject({ code });
  });

  it("rejects at the first failure without retries", async () => {
    const connected = make({ autoReconnect: false }).connect();
    const failed = device.waitFor("ota-failed");
    (await ota.requests.take()).answer(503);
    await expect(connected).rejects.toMatchObject({ code: "ota_failed" });
    expect(await failed).toMatchObject({ attempt: 1 });
  });

  it("can be stopped while it waits for approval", async () => {
    const connected = make().connect();
    (await ota.requests.take()).answer(200, { activation: { code: "1", challenge: "c" } });
    (await ota.requests.take()).answer(202);
    await clock.running();
    device.disconnect();
    await expect(connected).rejects.toMatchObject({ code: "stopped" });
    expect(clock.pending).toBe(0);
    const again = device.connect();
    (await ota.requests.take()).answer(200, { mqtt: broker.settings });
    await again;
  });

  it("cannot have another address as well", () => {
    make();
    expect(() => new VirtualDevice({ otaUrl: ota.url, url: server.url })).toThrow(/otaUrl/);
  });
});
