import { VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { MqttRefused, type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { OtaBoard } from "./ota-board.ts";
import { firstDevice, openSite, type Site } from "./site.ts";
import { Refused, WebSocketWire } from "./websocket-wire.ts";

const minute = 60_000;

async function approveSite(options: Parameters<typeof openSite>[0] = {}): Promise<Site> {
  const { config = {}, ...more } = options;
  return await openSite({
    ...more,
    config: { ...config, devices: { admission: "approve", ...config.devices } },
  });
}

/** The firmware's pauses divided by 100. */
const hurried: NonNullable<VirtualDeviceOptions["clock"]> = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms / 100);
    return { cancel: () => clearTimeout(timer) };
  },
};

interface Factory {
  readonly device: VirtualDevice;
  readonly code: Promise<string>;
  readonly connected: Promise<void>;
}

/** A factory-new board, which knows only the OTA address. */
function fromTheBox(site: Site, options: VirtualDeviceOptions = {}): Factory {
  const device = new VirtualDevice({ otaUrl: site.tendon.addresses.ota, clock: hurried, ...options });
  onTestFinished(() => device.stop());
  const code = new Promise<string>((resolve) => {
    device.on("activation-code", (event) => resolve(event.code));
  });
  return { device, code, connected: device.connect() };
}

async function signsIn(settings: MqttSettings | undefined): Promise<boolean> {
  if (settings === undefined) return false;
  try {
    (await MqttWire.open(settings)).cut();
    return true;
  } catch (error) {
    if (error instanceof MqttRefused) return false;
    throw error;
  }
}

async function comesIn(site: Site, board: OtaBoard, token: string): Promise<boolean> {
  const headers = {
    "Device-Id": board.deviceId,
    "Client-Id": board.clientId,
    Authorization: `Bearer ${token}`,
  };
  try {
    (await WebSocketWire.open(site.url, { headers })).cut();
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

describe("a board that knows only the OTA address", () => {
  it.each(["mqtt", "websocket"] as const)(
    "[OTA-5][PRV-2] is approved by its code and called over %s",
    async (transport) => {
      const site = await approveSite({ config: { devices: { transport } } });
      const events = await site.events();
      const { device, code, connected } = fromTheBox(site);
      const shown = await code;
      expect(shown).toMatch(/^\d{6}$/);
      expect(await events.next()).toMatchObject({
        type: "device.pending",
        device: device.id,
        data: { board: "virtual-esp32s3", firmware: "2.4.2", from: "127.0.0.1", standing: "new" },
      });
      const approved = await site.rest("POST", "/devices/approve", { code: shown });
      expect(approved.status).toBe(200);
      expect(approved.body).toMatchObject({ id: device.id, approval: "approved", replaced: false });
      expect(await events.next()).toMatchObject({
        type: "device.approved",
        device: device.id,
        data: { by: "admin", replaced: false },
      });
      await connected;
      await site.listed(device.id);
      expect((await site.call(device.id, "self.audio_speaker.set_volume", { volume: 12 })).status).toBe(200);
      expect(device.state.get("volume")).toBe(12);
      expect(await site.device(device.id)).toMatchObject({ transport, online: true, approval: "approved" });
      // The code is used, and was in no event.
      expect((await site.rest("POST", "/devices/approve", { code: shown })).body["code"]).toBe(
        "device_unknown",
      );
      expect(events.seen.map(({ raw }) => raw).join()).not.toContain(shown);
    },
  );

  it("[PRV-2] is approved by its id when it is the only one waiting with it", async () => {
    const site = await approveSite();
    const { device, code, connected } = fromTheBox(site);
    await code;
    expect((await site.rest("GET", "/devices/pending")).body).toMatchObject({
      pending: [{ device: device.id, board: "virtual-esp32s3", standing: "new", proof: "unneeded" }],
      total: 1,
    });
    const approved = await site.rest("POST", `/devices/${device.id}/approve`);
    expect(approved.body).toMatchObject({ id: device.id, approval: "approved" });
    await connected;
    expect((await site.rest("GET", "/devices/pending")).body).toEqual({ pending: [], total: 0 });
    const again = await site.rest("POST", `/devices/${device.id}/approve`);
    expect(again.body).toMatchObject({ approval: "approved", replaced: false });
    await until(async () => (await site.device(device.id))["online"] === true);
  });

  it("[OTA-3] gets its configured transport at its next start", async () => {
    const site = await approveSite();
    const { device, code, connected } = fromTheBox(site, { timing: { rebootDelayMs: 1, bootMs: 1 } });
    await site.rest("POST", "/devices/approve", { code: await code });
    await connected;
    await site.listed(device.id);
    expect(await site.device(device.id)).toMatchObject({ transport: "mqtt", transportSetting: null });
    const changed = await site.rest("PATCH", `/devices/${device.id}`, { transport: "websocket" });
    expect(changed.body).toMatchObject({ transport: "mqtt", transportSetting: "websocket" });
    await site.call(device.id, "self.reboot");
    await until(async () => {
      const { transport, online } = await site.device(device.id);
      return transport === "websocket" && online === true;
    });
    const back = await site.rest("PATCH", `/devices/${device.id}`, { transport: null });
    expect(back.body["transportSetting"]).toBeNull();
    expect((await site.rest("PATCH", `/devices/${device.id}`, { transport: "udp" })).status).toBe(400);
  });
});

describe("a waiting board", () => {
  it("[OTA-5] gets its code in the firmware's format, and no settings", async () => {
    const site = await approveSite();
    const board = new OtaBoard(site.url);
    const answer = await board.ask();
    expect(answer.status).toBe(200);
    expect(Buffer.byteLength(answer.text)).toBeLessThan(8 * 1024);
    expect(Object.keys(answer.body).sort()).toEqual(["activation", "firmware", "server_time"]);
    const { code, message, challenge, timeout_ms } = await board.shown();
    expect(code).toMatch(/^\d{6}$/);
    expect(message).toBe(`Tendon\n${code}`);
    expect(challenge).toMatch(/^[0-9a-f]{32}$/);
    expect(timeout_ms).toBe(30_000);
    expect((await site.rest("GET", "/devices")).body["devices"]).toEqual([]);
  });

  it.each(["/xiaozhi/ota/activate", "/xiaozhi/ota/activate/"])(
    "[OTA-6] polls %s until it is approved, and is never redirected",
    async (path) => {
      const site = await approveSite();
      const board = new OtaBoard(site.url);
      // It has not requested settings yet, which is no reason to reject it.
      expect((await board.activate()).status).toBe(202);
      const { code } = await board.shown();
      const first = await board.activate();
      expect([first.status, first.headers.location]).toEqual([202, undefined]);
      await site.rest("POST", "/devices/approve", { code });
      expect((await board.activate()).status).toBe(200);
      const other = new OtaBoard(site.url, { clientId: "another-client" });
      expect((await other.activate()).status).toBe(202);
      expect((await board.ask(path)).status).toBe(200);
    },
  );

  it("[OTA-5] keeps its code for 15 minutes, and gets another one then", async () => {
    const clock = new ManualClock();
    const site = await approveSite({ clock });
    const board = new OtaBoard(site.url);
    const { code, challenge } = await board.shown();
    clock.advance(15 * minute - 1);
    expect(await board.shown()).toMatchObject({ code, challenge });
    clock.advance(1);
    expect((await site.rest("POST", "/devices/approve", { code })).body["code"]).toBe("device_unknown");
    const next = await board.shown();
    expect(next.challenge).not.toBe(challenge);
    expect((await site.rest("POST", "/devices/approve", { code: next.code })).status).toBe(200);
  });

  it("[OTA-5] has a unique code", async () => {
    const site = await approveSite();
    const boards = Array.from(
      { length: 200 },
      (_, index) => new OtaBoard(site.url, { clientId: `c-${index}` }),
    );
    const shown = await Promise.all(boards.map((board) => board.shown()));
    expect(new Set(shown.map(({ code }) => code)).size).toBe(boards.length);
    expect((await site.rest("GET", "/devices/pending")).body["total"]).toBe(boards.length);
  });

  it("[OTA-2] gets nothing when admission is closed", async () => {
    const site = await approveSite({ config: { devices: { admission: "closed" } } });
    const board = new OtaBoard(site.url);
    expect(Object.keys((await board.ask()).body).sort()).toEqual(["firmware", "server_time"]);
    expect((await board.activate()).status).toBe(403);
    expect((await site.rest("GET", "/devices/pending")).body["total"]).toBe(0);
  });
});

describe("a copied Device-Id", () => {
  it.each(["approve", "open"] as const)(
    "[PRV-1] with admission %s gets its own code and no credentials, and the board keeps working",
    async (admission) => {
      const site = await approveSite({ config: { devices: { admission } } });
      const { device, code, connected } = fromTheBox(site);
      if (admission === "approve") await site.rest("POST", "/devices/approve", { code: await code });
      await connected;
      await site.listed(device.id);
      const events = await site.events();
      const copy = new OtaBoard(site.url, { deviceId: device.id, clientId: "copied" });
      const answer = await copy.ask();
      expect(Object.keys(answer.body).sort()).toEqual(["activation", "firmware", "server_time"]);
      expect(await events.next()).toMatchObject({ type: "device.pending", data: { standing: "taken" } });
      expect((await copy.activate()).status).toBe(202);
      expect(await comesIn(site, copy, "anything")).toBe(false);
      expect((await site.call(device.id, "self.audio_speaker.set_volume", { volume: 7 })).status).toBe(200);
      expect((await site.rest("GET", "/devices/pending")).body["pending"]).toMatchObject([
        { device: device.id, standing: "taken" },
      ]);
    },
  );

  it("[PRV-2] distinguishes two waiting boards with one id by their codes", async () => {
    const site = await approveSite();
    const one = new OtaBoard(site.url);
    const other = new OtaBoard(site.url, { clientId: "the-other" });
    const shown = await one.shown();
    const { code } = await other.shown();
    expect(shown.code).not.toBe(code);
    const byId = await site.rest("POST", `/devices/${firstDevice}/approve`);
    expect([byId.status, byId.body["code"]]).toEqual([409, "conflict"]);
    expect(await one.mqtt()).toBeUndefined();
    await site.rest("POST", "/devices/approve", { code });
    expect(await signsIn(await other.mqtt())).toBe(true);
    // The other board still waits, with its code.
    expect(await one.shown()).toEqual(shown);
  });

  it("[PRV-2] replaces the board when it is approved: the old credentials and connection end, with an event", async () => {
    const site = await approveSite({ config: { devices: { transport: "websocket" } } });
    const first = new OtaBoard(site.url);
    await site.rest("POST", "/devices/approve", { code: (await first.shown()).code });
    const { token = "" } = (await first.webSocket()) ?? {};
    const device = await site.join({ clientId: first.clientId, token });
    // An accepted connection without a hello is closed too.
    const silent = await site.connect({ clientId: first.clientId, token });
    const events = await site.events();
    const second = new OtaBoard(site.url, { clientId: "after-a-flash-erase" });
    const { code } = await second.shown();
    const approved = await site.rest("POST", "/devices/approve", { code });
    expect(approved.body).toMatchObject({ id: firstDevice, approval: "approved", replaced: true });
    expect(approved.body["message"]).toContain("the credentials of the previous board are revoked");
    expect(await events.nextOf("device.approved")).toMatchObject({ data: { by: "admin", replaced: true } });
    expect(await device.wire.ended).toMatchObject({
      code: 1008,
      reason: "another board was approved under this id",
    });
    expect(await silent.wire.ended).toMatchObject({ code: 1008 });
    expect(await comesIn(site, first, token)).toBe(false);
    expect(await comesIn(site, second, token)).toBe(false);
    const fresh = (await second.webSocket())?.token ?? "";
    expect(await comesIn(site, second, fresh)).toBe(true);
    expect(await first.webSocket()).toBeUndefined();
  });
});

describe("a revoked device", () => {
  it.each(["approve", "open"] as const)(
    "[PRV-3] with admission %s is disconnected, and needs approval for new credentials",
    async (admission) => {
      const site = await approveSite({ config: { devices: { admission, transport: "websocket" } } });
      const board = new OtaBoard(site.url);
      const settings = await board.webSocket();
      if (settings === undefined)
        await site.rest("POST", "/devices/approve", { code: (await board.shown()).code });
      const { token = "" } = (await board.webSocket()) ?? {};
      const device = await site.join({ clientId: board.clientId, token });
      const events = await site.events();
      const revoked = await site.rest("POST", `/devices/${firstDevice}/revoke`);
      expect(revoked.body).toMatchObject({ id: firstDevice, approval: "revoked", replaced: false });
      expect(await device.wire.ended).toMatchObject({
        code: 1008,
        reason: "the device's credentials were revoked",
      });
      expect(await events.nextOf("device.revoked")).toMatchObject({ data: { by: "admin" } });
      expect(await comesIn(site, board, token)).toBe(false);
      expect(await comesIn(site, new OtaBoard(site.url, { clientId: "other" }), "x")).toBe(false);
      expect(await board.webSocket()).toBeUndefined();
      expect(await site.device(firstDevice)).toMatchObject({ approval: "revoked", online: false });
      expect((await site.rest("GET", "/devices/pending")).body["pending"]).toMatchObject([
        { standing: "revoked" },
      ]);
      const { code } = await board.shown();
      expect((await site.rest("POST", "/devices/approve", { code })).body).toMatchObject({ replaced: false });
      const fresh = (await board.webSocket())?.token ?? "";
      expect(fresh).not.toBe(token);
      expect(await comesIn(site, board, token)).toBe(false);
      expect(await comesIn(site, board, fresh)).toBe(true);
    },
  );

  it("[PRV-3] over MQTT is disconnected too, and can be approved by its id before its next request", async () => {
    const site = await approveSite();
    const board = new OtaBoard(site.url);
    await site.rest("POST", "/devices/approve", { code: (await board.shown()).code });
    const old = await board.mqtt();
    const wire = await MqttWire.open(old as MqttSettings);
    await until(async () => (await site.device(firstDevice))["online"] === true);
    await site.rest("POST", `/devices/${firstDevice}/revoke`);
    await wire.ended;
    expect(await signsIn(old)).toBe(false);
    const twice = await site.rest("POST", `/devices/${firstDevice}/revoke`);
    expect(twice.body).toMatchObject({ approval: "revoked" });
    const back = await site.rest("POST", `/devices/${firstDevice}/approve`);
    expect(back.body).toMatchObject({ approval: "approved", replaced: false });
    expect(await signsIn(old)).toBe(false);
    expect(await signsIn(await board.mqtt())).toBe(true);
  });

  it("[PRV-3] does not get its old credentials back when it is deleted", async () => {
    const site = await approveSite();
    const board = new OtaBoard(site.url);
    await site.rest("POST", "/devices/approve", { code: (await board.shown()).code });
    const old = await board.mqtt();
    expect(await signsIn(old)).toBe(true);
    expect((await site.rest("DELETE", `/devices/${firstDevice}`)).status).toBe(204);
    expect(await signsIn(old)).toBe(false);
    await site.rest("POST", "/devices/approve", { code: (await board.shown()).code });
    expect(await signsIn(old)).toBe(false);
    expect(await signsIn(await board.mqtt())).toBe(true);
  });

  it("[PRV-3] cannot be revoked, approved or deleted when it is unknown", async () => {
    const site = await approveSite();
    for (const [method, path] of [
      ["POST", "/devices/no-such-device/revoke"],
      ["POST", "/devices/no-such-device/approve"],
      ["POST", "/devices/02:00:00:00:00:01/approve"],
      ["DELETE", "/devices/02:00:00:00:00:01"],
    ] as const) {
      const answer = await site.rest(method, path);
      expect([answer.status, answer.body["code"]]).toEqual([404, "device_unknown"]);
    }
  });

  it("[PRV-3] a waiting board can be rejected, and gets another code", async () => {
    const site = await approveSite();
    const board = new OtaBoard(site.url);
    const { code } = await board.shown();
    expect((await site.rest("DELETE", `/devices/${firstDevice}`)).status).toBe(204);
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(404);
    expect((await board.shown()).challenge).toBeTypeOf("string");
  });
});
