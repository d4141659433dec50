import { randomBytes } from "node:crypto";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "./inbox.ts";
import { type MqttSettings, MqttWire } from "./mqtt-wire.ts";
import { OtaBoard } from "./ota-board.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const serial = { number: "SN-0001-abcdef", key: randomBytes(32).toString("hex") };
const listed = { id: firstDevice, serial: serial.number, hmacKey: serial.key, tags: ["fleet", "line-7"] };

async function listSite(
  rows: readonly unknown[] = [listed],
  admission: "list" | "approve" = "list",
): Promise<Site> {
  const site = await openSite({ config: { devices: { admission } } });
  if (rows.length > 0) {
    const answer = await site.rest("POST", "/devices/import", { devices: rows });
    expect(answer.body).toEqual({ imported: rows.length, total: rows.length });
  }
  return site;
}

describe("admission by a list", () => {
  it.each(["mqtt", "websocket"] as const)(
    "[OTA-7] a board that proves its serial number is provisioned and called over %s without approval",
    async (transport) => {
      const site = await openSite({ config: { devices: { admission: "list", transport } } });
      await site.rest("POST", "/devices/import", { devices: [listed] });
      const events = await site.events();
      const device = new VirtualDevice({
        otaUrl: site.tendon.addresses.ota,
        board: { mac: firstDevice, serial: { number: serial.number, hmacKey: serial.key } },
      });
      onTestFinished(() => device.stop());
      await device.connect();
      await site.listed(device.id);
      expect(await events.nextOf("device.approved")).toMatchObject({
        data: { by: "the list", replaced: false },
      });
      expect((await site.call(device.id, "self.audio_speaker.set_volume", { volume: 9 })).status).toBe(200);
      expect(await site.device(device.id)).toMatchObject({ transport, tags: ["fleet", "line-7"] });
      expect((await site.rest("GET", "/devices?tag=line-7")).body["devices"]).toHaveLength(1);
    },
  );

  it("[OTA-7] the right proof of the challenge is answered with 200, and the settings follow", async () => {
    const site = await listSite();
    const board = new OtaBoard(site.url, { serial });
    const { challenge, code } = await board.shown();
    expect(code).toMatch(/^\d{6}$/);
    expect((await site.rest("GET", "/devices/pending")).body["pending"]).toMatchObject([
      { device: firstDevice, serial: serial.number, proof: "missing" },
    ]);
    expect((await board.activate(challenge)).status).toBe(200);
    const settings = (await board.mqtt()) as MqttSettings;
    (await MqttWire.open(settings)).cut();
    expect((await site.rest("GET", "/devices/pending")).body["total"]).toBe(0);
  });

  const wrong: readonly [string, (challenge: string) => Readonly<Record<string, unknown>>, string][] = [
    ["another HMAC", () => ({ hmac: "0".repeat(64) }), serial.key],
    ["another key", () => ({}), randomBytes(32).toString("hex")],
    ["an HMAC cut short", () => ({ hmac: "00" }), serial.key],
    ["an HMAC that is no hex", () => ({ hmac: "z".repeat(64) }), serial.key],
    ["another challenge", () => ({ challenge: "0".repeat(32) }), serial.key],
    ["another serial number", () => ({ serial_number: "SN-0002" }), serial.key],
    ["another algorithm", () => ({ algorithm: "hmac-md5" }), serial.key],
    ["a number for an HMAC", () => ({ hmac: 7 }), serial.key],
  ];
  it.each(wrong)("[OTA-7] %s is rejected, and the board cannot be approved", async (_, change, key) => {
    const site = await listSite();
    const board = new OtaBoard(site.url, { serial: { number: serial.number, key } });
    const { challenge, code } = await board.shown();
    const answer = await board.activate(challenge, change(challenge));
    expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
    expect(answer.text).not.toContain(key);
    const approved = await site.rest("POST", "/devices/approve", { code });
    expect([approved.status, approved.body["code"]]).toEqual([409, "conflict"]);
    expect((await site.rest("GET", "/devices/pending")).body["pending"]).toMatchObject([{ proof: "failed" }]);
    expect(await board.mqtt()).toBeUndefined();
  });

  it("[OTA-7] a board without a serial number is rejected for an id with one", async () => {
    const site = await listSite();
    const board = new OtaBoard(site.url);
    const { code } = await board.shown();
    expect((await board.activate()).status).toBe(403);
    expect((await site.rest("POST", `/devices/${firstDevice}/approve`)).status).toBe(409);
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(409);
    expect(await board.mqtt()).toBeUndefined();
  });

  it("[OTA-7] another board's proof is rejected", async () => {
    const site = await listSite([listed, { ...listed, id: "02:00:00:00:00:02", serial: "SN-0002" }]);
    const victim = new OtaBoard(site.url, { serial });
    const thief = new OtaBoard(site.url, { clientId: "a-thief", serial });
    const { challenge } = await victim.shown();
    await thief.shown();
    expect((await thief.activate(challenge)).status).toBe(403);
    expect((await victim.activate(challenge)).status).toBe(200);
  });

  it("[OTA-7] a serial number without a key must be sent", async () => {
    const site = await listSite([{ id: firstDevice, serial: serial.number }]);
    const other = new OtaBoard(site.url, { clientId: "other", serial: { ...serial, number: "SN-9" } });
    await other.shown();
    expect((await other.activate()).status).toBe(403);
    const board = new OtaBoard(site.url, { serial });
    expect((await board.activate((await board.shown()).challenge)).status).toBe(200);
  });

  it("[OTA-2] only an imported id without a serial number gets settings at once", async () => {
    const site = await listSite([{ id: "02-00-00-00-00-01", tags: ["fleet"] }]);
    const settings = await new OtaBoard(site.url).mqtt();
    const wire = await MqttWire.open(settings as MqttSettings);
    await until(async () => (await site.device(firstDevice))["online"] === true);
    expect(await site.device(firstDevice)).toMatchObject({ tags: ["fleet"], approval: "approved" });
    wire.cut();
    const stranger = new OtaBoard(site.url, { deviceId: "02:00:00:00:00:09" });
    expect(Object.keys((await stranger.ask()).body).sort()).toEqual(["firmware", "server_time"]);
    // A copy of a connected id gets a code; a proof alone does not replace the board.
    const copy = new OtaBoard(site.url, { clientId: "copy" });
    expect((await copy.shown()).code).toMatch(/^\d{6}$/);
    expect((await copy.activate()).status).toBe(202);
    expect(await copy.mqtt()).toBeUndefined();
  });

  it.each(["list", "open"] as const)(
    "[PRV-1] of boards with one id at the same time exactly one gets credentials (%s), and they work",
    async (admission) => {
      const site = await openSite({ config: { devices: { admission } } });
      await site.rest("POST", "/devices/import", { devices: [{ id: firstDevice }] });
      const boards = Array.from(
        { length: 8 },
        (_, index) => new OtaBoard(site.url, { clientId: `c-${index}` }),
      );
      const answers = await Promise.all(boards.map((board) => board.ask()));
      const given = answers.flatMap(({ body }) => (body["mqtt"] === undefined ? [] : [body["mqtt"]]));
      expect(given).toHaveLength(1);
      expect(answers.filter(({ body }) => body["activation"] !== undefined)).toHaveLength(7);
      (await MqttWire.open(given[0] as unknown as MqttSettings)).cut();
    },
  );

  it("[PRV-1] a board after a flash erase proves its serial number and still needs approval", async () => {
    const site = await listSite();
    const before = new OtaBoard(site.url, { serial });
    await before.activate((await before.shown()).challenge);
    const old = (await before.mqtt()) as MqttSettings;
    (await MqttWire.open(old)).cut();
    const after = new OtaBoard(site.url, { clientId: "after-a-flash-erase", serial });
    const { challenge, code } = await after.shown();
    expect((await after.activate(challenge)).status).toBe(202);
    expect(await after.mqtt()).toBeUndefined();
    expect((await site.rest("GET", "/devices/pending")).body["pending"]).toMatchObject([
      { standing: "taken", proof: "given" },
    ]);
    expect((await site.rest("POST", "/devices/approve", { code })).body).toMatchObject({ replaced: true });
    expect((await after.activate(challenge)).status).toBe(200);
    await expect(MqttWire.open(old)).rejects.toMatchObject({ returnCode: 4 });
    (await MqttWire.open((await after.mqtt()) as MqttSettings)).cut();
  });

  it("[OTA-7] with admission by approval, the proof is required too", async () => {
    const site = await listSite([listed], "approve");
    const board = new OtaBoard(site.url, { serial });
    const { challenge, code } = await board.shown();
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(409);
    expect((await board.activate(challenge)).status).toBe(202);
    expect((await site.rest("POST", "/devices/approve", { code })).status).toBe(200);
    expect((await board.activate(challenge)).status).toBe(200);
    expect((await site.device(firstDevice))["tags"]).toEqual(["fleet", "line-7"]);
  });

  it("[PRV-3] a deleted device is removed from the list", async () => {
    const site = await listSite([{ id: firstDevice }]);
    expect((await site.rest("DELETE", `/devices/${firstDevice}`)).status).toBe(204);
    expect(await new OtaBoard(site.url).mqtt()).toBeUndefined();
    expect((await site.rest("DELETE", `/devices/${firstDevice}`)).status).toBe(404);
  });
});

describe("an import", () => {
  it.each([
    ["an id that is none", [{ id: "two words" }], "/devices/0/id"],
    ["a MAC address with a letter that is no digit", [{ id: "24:6f:28:aa:bb:zz" }], "/devices/0/id"],
    ["a MAC address that is too short", [{ id: "24-6F-28-AA-BB" }], "/devices/0/id"],
    ["a key without a serial number", [{ id: firstDevice, hmacKey: serial.key }], "/devices/0/serial"],
    ["an id twice, in two spellings", [{ id: firstDevice }, { id: "020000000001" }], "/devices/1/id"],
    ["a key that is too short", [{ id: firstDevice, serial: "S", hmacKey: "00" }], "/devices/0/hmacKey"],
    ["a tag with a space", [{ id: firstDevice, tags: ["a b"] }], "/devices/0/tags/0"],
    ["an unknown field", [{ id: firstDevice, colour: "red" }], "/devices/0/colour"],
    ["nothing", [], "/devices"],
  ])("[PRV-6] with %s is rejected as a whole, with the location", async (_, devices, place) => {
    const site = await listSite([]);
    const rows = devices.length === 1 ? [{ id: "02:00:00:00:00:77" }, ...devices].reverse() : devices;
    const answer = await site.rest("POST", "/devices/import", { devices: rows });
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
    expect((answer.body["errors"] as { path: string }[]).map(({ path }) => path)).toContain(place);
    expect(answer.text).not.toContain(serial.key);
    expect(await new OtaBoard(site.url, { deviceId: "02:00:00:00:00:77" }).mqtt()).toBeUndefined();
  });

  it("[PRV-6] accepts custom ids, and explains a mistyped MAC address", async () => {
    const site = await listSite([{ id: "lamp_1" }, { id: "kitchen-2.a" }, { id: "00:12:4b:00:14:d7:a1:b2" }]);
    const answer = await site.rest("POST", "/devices/import", { devices: [{ id: "24:6f:28:aa:bb:zz" }] });
    expect(answer.body["errors"]).toEqual([
      {
        path: "/devices/0/id",
        message: "looks like a MAC address, but group 6 is not two hexadecimal digits (0-9, a-f)",
      },
    ]);
  });

  it("[PRV-6] can be repeated and corrected; known devices keep their tags", async () => {
    const site = await listSite([{ id: firstDevice, tags: ["old"] }]);
    const settings = (await new OtaBoard(site.url).mqtt()) as MqttSettings;
    const wire = await MqttWire.open(settings);
    await until(async () => (await site.device(firstDevice))["online"] === true);
    const again = await site.rest("POST", "/devices/import", { devices: [{ ...listed, tags: ["new"] }] });
    expect(again.body).toEqual({ imported: 1, total: 1 });
    expect(await site.device(firstDevice)).toMatchObject({ tags: ["old"], online: true });
    wire.cut();
    expect(await new OtaBoard(site.url).mqtt()).toEqual(settings);
  });

  it("[PRV-6] accepts at most 1,000 rows", async () => {
    const site = await listSite([]);
    const rows = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        id: `0a:00:00:00:${(index >> 8).toString(16).padStart(2, "0")}:${(index & 255).toString(16).padStart(2, "0")}`,
      }));
    expect((await site.rest("POST", "/devices/import", { devices: rows(1_001) })).status).toBe(400);
    const answer = await site.rest("POST", "/devices/import", { devices: rows(1_000) });
    expect(answer.body).toEqual({ imported: 1_000, total: 1_000 });
  });
});
