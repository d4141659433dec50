/** Boards that are offered firmware, download it and run it, through their own interfaces. */
import { createHash } from "node:crypto";
import { faultsNamed, VirtualDevice, type VirtualDeviceOptions } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeImage } from "../firmware-image.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type MqttSettings, MqttWire } from "../mqtt-wire.ts";
import { tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { askAtBoot, boardId, fetchImage, handIn, imageView, offerOf } from "./boards.ts";

const board = { name: "esp-box-3", firmware: "2.4.2" };

function virtualBoard(site: Site, options: VirtualDeviceOptions = {}): VirtualDevice {
  const device = new VirtualDevice({
    otaUrl: site.tendon.addresses.ota,
    timing: { rebootDelayMs: 0, bootMs: 1 },
    board,
    ...options,
  });
  onTestFinished(() => device.stop());
  return device;
}

describe("a virtual board", () => {
  it.each(["mqtt", "websocket"] as const)(
    "[FWU-3][FWU-6] over %s is offered an image, downloads it and runs it",
    async (transport) => {
      const site = await openSite({ config: { devices: { transport } } });
      const device = virtualBoard(site);
      await device.connect();
      const events = await site.events("?type=device.firmware");
      const added = await handIn(site, makeImage({ version: "2.5.0", codeBytes: 300_000 }));
      expect(added.status).toBe(201);
      const { id } = added.body;
      device.reboot();
      await device.waitFor("connected");
      expect(device.board.firmware).toBe("2.5.0");
      expect(await events.next()).toMatchObject({
        device: device.id,
        data: { image: id, version: "2.5.0", outcome: "fetched" },
      });
      expect(await events.next()).toMatchObject({
        device: device.id,
        data: { image: id, outcome: "updated" },
      });
      await site.listed(device.id);
      expect(await site.device(device.id)).toMatchObject({ firmware: "2.5.0", board: "esp-box-3" });
      expect(await imageView(site, String(id))).toMatchObject({
        devices: { offered: 0, fetched: 0, updated: 1, failed: 0 },
        failures: [],
      });
      // The next boot gets no offer.
      device.reboot();
      await device.waitFor("connected");
      expect(device.board.firmware).toBe("2.5.0");
    },
  );

  it("[FWU-6] that returns to its old firmware is not offered the same image again, and keeps working", async () => {
    const site = await openSite();
    const { id } = (await handIn(site, makeImage())).body;
    const device = virtualBoard(site, { faults: faultsNamed(["rolled-back-update"]) });
    let reboots = 0;
    device.on("reboot", () => {
      reboots += 1;
    });
    await device.connect();
    expect([device.board.firmware, reboots]).toEqual(["2.4.2", 1]);
    await site.listed(device.id);
    expect(await imageView(site, String(id))).toMatchObject({
      state: "offered",
      devices: { failed: 1, updated: 0 },
      failures: [{ device: device.id, reason: "the device restarted with 2.4.2" }],
    });
    device.reboot();
    await device.waitFor("connected");
    expect(reboots).toBe(2);
  });

  it("[FWU-6] that stays offline counts as failed", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const device = virtualBoard(site, { faults: faultsNamed(["dark-update"]) });
    await device.connect();
    const events = await site.events("?type=device.firmware");
    await handIn(site, makeImage());
    device.reboot();
    expect(await events.next()).toMatchObject({ data: { outcome: "fetched" } });
    clock.advance(10 * 60_000);
    // The gateway checks every few seconds.
    await until(() => {
      clock.advance(5_000);
      return events.seen.length > 1;
    });
    expect(await events.next()).toMatchObject({
      data: { outcome: "failed", reason: "the device did not reconnect within 10 min after the download" },
    });
  });

  it.each([
    ["mqtt", "failed"],
    // It has closed its connection by then, and reconnects unchanged.
    ["websocket", "unknown"],
  ] as const)(
    "[MCP-16] over %s takes an image by `self.upgrade_firmware` too, and a failure of that is %s",
    async (transport, failure) => {
      const config = { access: { urlHosts: ["127.0.0.1"] }, devices: { transport } };
      const site = await openSite({ config });
      await handIn(site, makeImage());
      const offer = await offerOf(site, { id: boardId(7) });
      const device = virtualBoard(site, { board: { ...board, name: "other-board" } });
      await device.connect();
      await site.listed(device.id);
      const upgrade = async (url: string) => {
        const { body } = await site.call(device.id, "self.upgrade_firmware", { url });
        return body["result"];
      };
      expect(await upgrade(`${site.url}/xiaozhi/firmware/none`)).toMatchObject({
        isError: true,
        structuredContent: { upgrade: failure, firmwareBefore: "2.4.2", firmwareNow: "2.4.2" },
      });
      await until(async () => (await site.device(device.id))["online"], "the board to be back");
      expect(await upgrade(offer?.url ?? "")).toMatchObject({
        isError: false,
        structuredContent: { upgrade: "updated", firmwareBefore: "2.4.2", firmwareNow: "2.5.0" },
      });
      expect(await site.device(device.id)).toMatchObject({ firmware: "2.5.0" });
    },
  );

  it("[MCP-16] that is offline does not delay the gateway's stop", async () => {
    const config = { access: { urlHosts: ["127.0.0.1"] } };
    // The clock stands still, so nothing that waits for it would end.
    const site = await openSite({ config, clock: new ManualClock() });
    const device = await site.join({ userTools: [tool("self.upgrade_firmware")] });
    const answer = site.call(device.id, "self.upgrade_firmware");
    await device.nextRequest("tools/call");
    device.cut();
    await until(async () => (await site.device(device.id))["online"] === false, "the board to be away");
    await site.tendon.stop();
    expect((await answer).body["result"]).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/^unknown: the gateway stopped before the device reconnected/) },
      ],
    });
  });
});

describe("a firmware offer", () => {
  it("[FWU-3][FWU-5] is a version, an address, and the file itself behind it", async () => {
    const site = await openSite();
    const image = makeImage({ version: "2.5.0", codeBytes: 100_000 });
    const { sha256 } = (await handIn(site, image)).body;
    const answer = await askAtBoot(site);
    expect(answer.body["mqtt"]).toBeDefined();
    const offer = answer.body["firmware"] as { version: string; url: string };
    expect(Object.keys(offer)).toEqual(["version", "url"]);
    expect(offer.version).toBe("2.5.0");
    expect(offer.url.startsWith(`${site.url}/xiaozhi/firmware/`)).toBe(true);
    expect(new URL(offer.url).pathname).toMatch(/^\/xiaozhi\/firmware\/[A-Za-z0-9_-]{60,160}$/);
    const fetched = await fetchImage(offer.url);
    expect(fetched.status).toBe(200);
    // Some modems require this spelling.
    expect(fetched.rawHeaders).toContain("Content-Length");
    expect(fetched.rawHeaders.join().toLowerCase()).not.toContain("transfer-encoding");
    expect(createHash("sha256").update(fetched.bytes).digest("hex")).toBe(sha256);
    expect(fetched.bytes.equals(image)).toBe(true);
  });

  it("[FWU-3] uses the configured address, never the request's Host", async () => {
    const site = await openSite({ config: { http: { publicUrl: "https://tendon.example:8443/" } } });
    await handIn(site, makeImage());
    const offer = await offerOf(site, {
      headers: { host: "evil.example", "x-forwarded-host": "evil.example" },
    });
    expect(offer?.url).toMatch(/^https:\/\/tendon\.example:8443\/xiaozhi\/firmware\/[^/:]+$/);
  });

  it("[FWU-3] is not made with an address too long for a modem", async () => {
    const publicUrl = `https://${`${"a".repeat(60)}.`.repeat(8)}example`;
    const site = await openSite({ config: { http: { publicUrl } } });
    await handIn(site, makeImage());
    expect(await offerOf(site)).toBeUndefined();
  });

  it.each([
    ["of another board", { board: "esp-box" }],
    ["with the same version", { version: "2.5.0" }],
    ["with a newer version", { version: "2.10.0" }],
    ["with a version that begins alike and is longer", { version: "2.5.0.1" }],
    ["whose version has letters", { version: "2.4.2-dirty" }],
    ["with another chip", { body: { chip_model_name: "esp32c3" } }],
    [
      "with too small a flash",
      {
        body: {
          partition_table: [
            { label: "nvs", type: 1, subtype: 2, address: 0x9000, size: 0x4000 },
            { label: "ota_0", type: 0, subtype: 16, address: 0x20000, size: 1_000_000 },
            { label: "ota_1", type: 0, subtype: 17, address: 0x120000, size: 3_000 },
          ],
        },
      },
    ],
  ])("[FWU-3] is not made to a board %s", async (_, asking) => {
    const site = await openSite();
    await handIn(site, makeImage());
    expect(await offerOf(site, asking)).toBeUndefined();
    expect(await offerOf(site, { id: boardId(2) })).toMatchObject({ version: "2.5.0" });
  });

  it("[FWU-3] is made even if the board's body is not JSON", async () => {
    const site = await openSite();
    await handIn(site, makeImage());
    const answer = await site.rest("GET", "/firmware");
    expect(answer.status).toBe(200);
    const offer = await offerOf(site, { body: { board: { name: 'my "home' } } });
    expect(offer?.version).toBe("2.5.0");
  });

  it("[FWU-3] is the newest of several images, and only for boards that get settings", async () => {
    const site = await openSite();
    for (const version of ["2.5.0", "2.10.0", "2.9.0"]) await handIn(site, makeImage({ version }));
    expect((await offerOf(site))?.version).toBe("2.10.0");
    // Another board with a known id gets no offer, and does not affect the first.
    expect(await offerOf(site, { clientId: "another-client" })).toBeUndefined();
    const closed = await openSite({ config: { devices: { admission: "closed" } } });
    await handIn(closed, makeImage());
    expect(await offerOf(closed)).toBeUndefined();
  });

  it("[FWU-3] is made to a board with a new image only after that image is confirmed", async () => {
    const site = await openSite();
    await handIn(site, makeImage({ version: "2.5.0" }));
    const first = await offerOf(site);
    await fetchImage(first?.url ?? "");
    await handIn(site, makeImage({ version: "2.6.0" }));
    expect(await offerOf(site, { version: "2.5.0" })).toBeUndefined();
    // Over MQTT, connecting confirms it; until then there is no other offer.
    expect(await offerOf(site, { version: "2.5.0" })).toBeUndefined();
    const wire = await MqttWire.open(
      (await askAtBoot(site, { version: "2.5.0" })).body["mqtt"] as unknown as MqttSettings,
    );
    onTestFinished(() => wire.cut());
    const next = await until(async () => await offerOf(site, { version: "2.5.0" }));
    expect(next.version).toBe("2.6.0");
  });

  it("[FWU-3] with force is made to boards with a newer version too, which then get no other image", async () => {
    const site = await openSite({ config: { devices: { transport: "websocket" } } });
    await handIn(site, makeImage({ version: "3.0.0" }));
    const { id } = (await handIn(site, makeImage({ version: "2.0.0" }), { force: "true" })).body;
    const offer = await offerOf(site, { version: "3.0.0" });
    expect(offer).toMatchObject({ version: "2.0.0", force: 1 });
    await fetchImage(offer?.url ?? "");
    expect(await offerOf(site, { version: "2.0.0" })).toBeUndefined();
    expect(await offerOf(site, { version: "2.0.0" })).toBeUndefined();
    await site.rest("DELETE", `/firmware/${String(id)}`);
    expect(await offerOf(site, { version: "2.0.0" })).toMatchObject({ version: "3.0.0" });
  });
});
