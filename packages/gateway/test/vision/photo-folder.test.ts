/** The folder of pictures: how long and how many, over restarts too, and nothing else is ever touched. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Photos, type PhotosSettings } from "../../src/device/vision/vision.ts";
import { ManualClock } from "./manual-clock.ts";
import { jpeg, png } from "./pictures.ts";
import { deviceId } from "./vision-site.ts";

const hour = 3_600_000;
let clock: ManualClock;
let data: string;
let folder: string;
let open: Photos[];
let faults: string[];

beforeEach(() => {
  clock = new ManualClock();
  data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-photos-"));
  folder = path.join(data, "photos");
  open = [];
  faults = [];
});
afterEach(async () => {
  for (const photos of open) await photos.stop();
  fs.rmSync(data, { recursive: true, force: true });
});

async function start(settings: Partial<PhotosSettings> = {}): Promise<Photos> {
  const photos = await Photos.open({ folder, clock, onFault: (what) => faults.push(what), ...settings });
  open.push(photos);
  return photos;
}

async function keep(photos: Photos, bytes = jpeg(), mimeType: "image/jpeg" | "image/png" = "image/jpeg") {
  const { token } = photos.openTicket({ deviceId, callId: "call-1" });
  const claim = photos.claim(token, deviceId);
  if (claim.kind !== "granted") throw new TypeError(claim.kind);
  const picture = await photos.accept(claim.ticket, { bytes, mimeType, question: "?" });
  photos.closeTicket(token);
  return picture?.id ?? "";
}

const files = () => fs.readdirSync(folder).sort();

describe("a picture", () => {
  it("is kept for an hour, and can be read by its id", async () => {
    const photos = await start();
    const id = await keep(photos, png(), "image/png");
    clock.advance(hour - 1);
    expect(await photos.read(id)).toEqual({ mimeType: "image/png", bytes: png() });
    clock.advance(1);
    expect(await photos.read(id)).toBeUndefined();
    clock.advance(1_000);
    await photos.settled();
    expect(files()).toEqual([]);
  });

  it("is kept as long as the settings say", async () => {
    const photos = await start({ ttlMs: 5_000 });
    await keep(photos);
    clock.advance(4_000);
    await photos.settled();
    expect(files().length).toBe(1);
    clock.advance(1_000);
    await photos.settled();
    expect(files()).toEqual([]);
  });

  it("makes room for a newer one: by number", async () => {
    const photos = await start({ maxCount: 3 });
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push(await keep(photos));
      clock.advance(10);
    }
    expect(files()).toEqual(
      ids
        .slice(2)
        .map((id) => `${id}.jpg`)
        .sort(),
    );
  });

  it("makes room for a newer one: by size", async () => {
    const photos = await start({ maxBytes: 10_000 });
    const [first, second, third] = [
      await keep(photos, jpeg(4_000)),
      await keep(photos, jpeg(4_000)),
      await keep(photos, jpeg(6_000)),
    ];
    expect(await photos.read(first ?? "")).toBeUndefined();
    expect(files()).toEqual([`${second}.jpg`, `${third}.jpg`].sort());
  });

  it("that comes with many others leaves as many as there may be", async () => {
    const photos = await start({ maxCount: 4 });
    await Promise.all(Array.from({ length: 40 }, () => keep(photos)));
    expect(files().length).toBe(4);
  });

  it("is removed in small steps with many others", async () => {
    const photos = await start();
    await Promise.all(Array.from({ length: 150 }, () => keep(photos)));
    clock.advance(hour - 1_000);
    const left: number[] = [];
    for (let step = 0; step < 4; step += 1) {
      clock.advance(1_000);
      await photos.settled();
      left.push(files().length);
    }
    expect(left).toEqual([86, 22, 0, 0]);
  });

  it("reaches its call also where it cannot be written", async () => {
    const photos = await start();
    fs.rmSync(folder, { recursive: true });
    const { token } = photos.openTicket({ deviceId, callId: "call-1" });
    const claim = photos.claim(token, deviceId);
    if (claim.kind !== "granted") throw new TypeError(claim.kind);
    const picture = await photos.accept(claim.ticket, {
      bytes: jpeg(),
      mimeType: "image/jpeg",
      question: "?",
    });
    expect(photos.pictureOf(token)).toBe(picture);
    expect(faults).toEqual([expect.stringContaining("was not stored")]);
    expect(await photos.read(picture?.id ?? "")).toBeUndefined();
  });

  it("is found by its id alone, never by a path", async () => {
    const photos = await start();
    const id = await keep(photos);
    fs.writeFileSync(path.join(data, "secret.jpg"), "secret");
    for (const odd of [
      "../secret",
      "../secret.jpg",
      `./${id}`,
      `${id}.jpg`,
      "",
      ".",
      `${id}\0`,
      "constructor",
    ]) {
      expect(await photos.read(odd)).toBeUndefined();
    }
  });
});

describe("a restart", () => {
  it("finds what is still to be kept and removes what is too old", async () => {
    const before = await start();
    const old = await keep(before);
    clock.advance(hour / 2);
    const young = await keep(before, png(), "image/png");
    await before.stop();
    clock.advance(hour / 2);
    const after = await start();
    await after.settled();
    expect(files()).toEqual([`${young}.png`]);
    expect(await after.read(young)).toEqual({ mimeType: "image/png", bytes: png() });
    expect(await after.read(old)).toBeUndefined();
    clock.advance(hour / 2);
    await after.settled();
    expect(files()).toEqual([]);
  });

  it("with tighter settings keeps the newest", async () => {
    const before = await start();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      ids.push(await keep(before));
      clock.advance(1_000);
    }
    await before.stop();
    const after = await start({ maxCount: 2 });
    await after.settled();
    expect(files()).toEqual(
      ids
        .slice(4)
        .map((id) => `${id}.jpg`)
        .sort(),
    );
  });

  it("removes what was not finished, and touches nothing that is not of its making", async () => {
    fs.mkdirSync(folder);
    const foreign = ["holiday.jpg", "ABCDEF.part", `${"0".repeat(32)}.gif`, `${"0".repeat(31)}g.jpg`];
    for (const name of foreign) fs.writeFileSync(path.join(folder, name), "x");
    fs.mkdirSync(path.join(folder, `${"1".repeat(32)}.jpg`));
    fs.symlinkSync(path.join(folder, "holiday.jpg"), path.join(folder, `${"2".repeat(32)}.jpg`));
    const there = files();
    fs.writeFileSync(path.join(folder, `${"3".repeat(32)}.part`), "x");
    const photos = await start();
    clock.advance(2 * hour);
    await photos.settled();
    expect(files()).toEqual(there);
    expect(await photos.read("2".repeat(32))).toBeUndefined();
  });

  it("does not believe a file from the future", async () => {
    fs.mkdirSync(folder);
    const name = `${"4".repeat(32)}.jpg`;
    fs.writeFileSync(path.join(folder, name), jpeg());
    const far = clock.now() / 1000 + 10 * 365 * 86_400;
    fs.utimesSync(path.join(folder, name), far, far);
    const photos = await start();
    clock.advance(hour);
    await photos.settled();
    expect(files()).toEqual([]);
  });

  it("is refused where the folder cannot be made", async () => {
    fs.writeFileSync(folder, "a file");
    await expect(start()).rejects.toMatchObject({ name: "StartError" });
  });
});
