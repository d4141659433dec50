/** The roll-out of an image: the selected boards, their results, and the automatic halt. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeImage } from "../firmware-image.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type MqttSettings, MqttWire } from "../mqtt-wire.ts";
import { openSite, type Site } from "../site.ts";
import { askAtBoot, boardId, fetchImage, handIn, imageView, offerOf, update } from "./boards.ts";

const websocket = { devices: { transport: "websocket" } } as const;
const fleet = 150;

/** The boards that are offered an image. */
async function chosen(site: Site, clock: ManualClock): Promise<Set<number>> {
  const offered = new Set<number>();
  for (let number = 0; number < fleet; number += 1) {
    // Unused offers count for half a minute.
    if (offered.size % 20 === 0) clock.advance(30_000);
    if ((await offerOf(site, { id: boardId(number) })) !== undefined) offered.add(number);
  }
  return offered;
}

function folder(): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-staging-"));
  onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

async function imageOf(site: Site, query: Record<string, string> = {}): Promise<string> {
  return String((await handIn(site, makeImage(), query)).body["id"]);
}

describe("a share of the fleet", () => {
  it("[FWU-2] has the right size, is the same after a restart, and is part of any larger share", async () => {
    const clock = new ManualClock();
    const data = folder();
    const first = await openSite({ clock, config: { data } });
    const id = await imageOf(first, { share: "10" });
    const tenth = await chosen(first, clock);
    expect(tenth.size).toBeGreaterThan(fleet * 0.02);
    expect(tenth.size).toBeLessThan(fleet * 0.21);
    await first.tendon.stop();
    const second = await openSite({ clock, config: { data } });
    expect(await chosen(second, clock)).toEqual(tenth);
    await second.rest("PATCH", `/firmware/${id}`, { share: 50 });
    const half = await chosen(second, clock);
    expect(half.size).toBeGreaterThan(fleet * 0.32);
    expect(half.size).toBeLessThan(fleet * 0.68);
    for (const number of tenth) expect(half.has(number)).toBe(true);
    await second.rest("PATCH", `/firmware/${id}`, { share: 0 });
    expect((await chosen(second, clock)).size).toBe(0);
  }, 60_000);

  it("[FWU-2] has other devices for the next image", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const one = await imageOf(site, { share: "20" });
    const first = await chosen(site, clock);
    await site.rest("DELETE", `/firmware/${one}`);
    await imageOf(site, { share: "20" });
    expect(await chosen(site, clock)).not.toEqual(first);
  }, 60_000);
});

describe("boards that fail to update", () => {
  it("[FWU-6] halt the image when they are three and a tenth; an event reports it, and it can be resumed", async () => {
    const site = await openSite({ config: websocket });
    const events = await site.events("?type=firmware.halted");
    // A board counts once it has connected.
    for (const number of [1, 2, 3, 4])
      await site.join({ deviceId: boardId(number), clientId: `client-of-${boardId(number)}` });
    const id = await imageOf(site);
    await update(site, boardId(4), "2.5.0");
    for (const number of [1, 2]) await update(site, boardId(number), "2.4.2");
    expect(await imageView(site, id)).toMatchObject({ state: "offered", devices: { updated: 1, failed: 2 } });
    await update(site, boardId(3), "2.4.2");
    const halted = await imageView(site, id);
    expect(halted).toMatchObject({
      state: "halted",
      haltedReason: "3 of 4 devices failed to update",
      devices: { updated: 1, failed: 3 },
    });
    expect(await events.next()).toMatchObject({
      device: boardId(3),
      data: { image: id, board: "esp-box-3", version: "2.5.0", reason: halted["haltedReason"] },
    });
    expect(await offerOf(site, { id: boardId(5) })).toBeUndefined();
    await site.rest("PATCH", `/firmware/${id}`, { state: "offered" });
    // Failed boards stay failed; a single new failure does not halt it again.
    expect(await offerOf(site, { id: boardId(1) })).toBeUndefined();
    await update(site, boardId(5), "2.4.2");
    expect(await imageView(site, id)).toMatchObject({ state: "offered", devices: { failed: 4 } });
    await site.rest("PATCH", `/firmware/${id}`, { retry: true });
    expect(await offerOf(site, { id: boardId(1) })).toBeDefined();
  });

  it("[FWU-6] do not halt the image while they are less than a tenth", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: websocket });
    const id = await imageOf(site);
    for (let number = 0; number < 40; number += 1) {
      await update(site, boardId(number), number < 36 ? "2.5.0" : "2.4.2");
    }
    // Four of forty is a tenth.
    expect(await imageView(site, id)).toMatchObject({ state: "halted", devices: { updated: 36, failed: 4 } });
    const other = await openSite({ clock, config: { ...websocket, firmware: { haltPercent: 11 } } });
    const kept = await imageOf(other);
    for (let number = 0; number < 40; number += 1) {
      await update(other, boardId(number), number < 36 ? "2.5.0" : "2.4.2");
    }
    expect(await imageView(other, kept)).toMatchObject({ state: "offered", devices: { failed: 4 } });
  }, 60_000);

  it("[FWU-6] in time count as failed, and as updated when they connect later", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: { ...websocket, firmware: { comeBackMs: 60_000 } } });
    const id = await imageOf(site);
    for (const number of [1, 2, 3])
      await fetchImage((await offerOf(site, { id: boardId(number) }))?.url ?? "");
    await until(async () => (await imageView(site, id))["state"] === "offered");
    await until(async () => {
      clock.advance(5_000);
      return (await imageView(site, id))["state"] === "halted";
    });
    const view = await imageView(site, id);
    expect(view["failures"]).toHaveLength(3);
    expect(view["failures"]).toContainEqual(
      expect.objectContaining({ reason: "the device did not reconnect within 1 min after the download" }),
    );
    expect(await offerOf(site, { id: boardId(2), version: "2.5.0" })).toBeUndefined();
    expect(await imageView(site, id)).toMatchObject({ state: "halted", devices: { updated: 1, failed: 2 } });
  });

  it("[FWU-6] over MQTT must connect to count as updated", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    // Unused credentials would expire, and the board would be removed.
    site.tendon.provision(boardId(1), `client-of-${boardId(1)}`);
    const id = await imageOf(site);
    await update(site, boardId(1), "2.5.0");
    expect(await imageView(site, id)).toMatchObject({ devices: { fetched: 1, updated: 0 } });
    clock.advance(600_000);
    await until(async () => {
      clock.advance(5_000);
      return (await imageView(site, id))["failures"]?.toString() !== "";
    });
    const reason = "the device started the new version but did not connect";
    expect((await imageView(site, id))["failures"]).toMatchObject([{ reason }]);
    // A board that keeps restarting stays failed; a newer image may fix it.
    for (let boot = 0; boot < 3; boot += 1) {
      expect(await offerOf(site, { version: "2.5.0" })).toBeUndefined();
      expect(await imageView(site, id)).toMatchObject({ devices: { fetched: 0, failed: 1 } });
    }
    await handIn(site, makeImage({ version: "2.5.1" }));
    expect(await offerOf(site, { version: "2.5.0" })).toMatchObject({ version: "2.5.1" });
    // When it connects later, it counts as updated.
    const settings = (await askAtBoot(site, { version: "2.5.0" })).body["mqtt"];
    const wire = await MqttWire.open(settings as unknown as MqttSettings);
    onTestFinished(() => wire.cut());
    await until(async () => (await imageView(site, id))["failures"]?.toString() === "");
    expect(await imageView(site, id)).toMatchObject({ devices: { updated: 1, failed: 0 } });
  });
});

describe("a board that never downloads its offer", () => {
  it("[FWU-6] is offered it five times, and again only on request", async () => {
    const site = await openSite();
    const id = await imageOf(site);
    for (let boot = 0; boot < 5; boot += 1) expect(await offerOf(site)).toBeDefined();
    expect(await offerOf(site)).toBeUndefined();
    expect(await imageView(site, id)).toMatchObject({ state: "offered", devices: { offered: 1, failed: 0 } });
    await site.rest("PATCH", `/firmware/${id}`, { retry: true });
    expect(await offerOf(site)).toBeDefined();
  });
});

describe("a restart in the middle", () => {
  it("[FWU-6] keeps offers, downloads, failures and halts, and addresses stay valid", async () => {
    const clock = new ManualClock();
    const config = { ...websocket, data: folder() };
    const first = await openSite({ clock, config });
    const id = await imageOf(first);
    const offered = (await offerOf(first, { id: boardId(1) }))?.url ?? "";
    await fetchImage((await offerOf(first, { id: boardId(2) }))?.url ?? "");
    await update(first, boardId(3), "2.4.2");
    await update(first, boardId(4), "2.5.0");
    await first.tendon.stop();
    const second = await openSite({ clock, config });
    expect(await imageView(second, id)).toMatchObject({
      here: true,
      devices: { offered: 1, fetched: 1, updated: 1, failed: 1 },
    });
    expect((await fetchImage(`${second.url}${new URL(offered).pathname}`)).status).toBe(200);
    expect(await offerOf(second, { id: boardId(2) })).toBeUndefined();
    expect(await offerOf(second, { id: boardId(3) })).toBeUndefined();
    expect(await offerOf(second, { id: boardId(1) })).toBeUndefined();
    expect(await imageView(second, id)).toMatchObject({
      state: "halted",
      devices: { failed: 3, updated: 1 },
    });
    await second.tendon.stop();
    const third = await openSite({ clock, config });
    expect(await imageView(third, id)).toMatchObject({ state: "halted", devices: { failed: 3, updated: 1 } });
  });
});
