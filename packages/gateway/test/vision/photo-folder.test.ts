/** The photo folder: age, count and size limits. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { hour, keep, PhotoBox } from "./photo-box.ts";
import { jpeg, png } from "./pictures.ts";
import { deviceId } from "./vision-site.ts";

describe("a photo", () => {
  it("is kept for an hour, and can be read by its id", async () => {
    const box = new PhotoBox();
    const photos = await box.start();
    const id = await keep(photos, png(), "image/png");
    box.clock.advance(hour - 1);
    expect(await photos.read(id)).toEqual({ mimeType: "image/png", bytes: png() });
    box.clock.advance(1);
    expect(await photos.read(id)).toBeUndefined();
    box.clock.advance(1_000);
    await photos.settled();
    expect(box.files()).toEqual([]);
  });

  it("is kept for the configured time", async () => {
    const box = new PhotoBox();
    const photos = await box.start({ ttlMs: 5_000 });
    await keep(photos);
    box.clock.advance(4_000);
    await photos.settled();
    expect(box.files().length).toBe(1);
    box.clock.advance(1_000);
    await photos.settled();
    expect(box.files()).toEqual([]);
  });

  it("is not readable after its time, even if its file still exists", async () => {
    const box = new PhotoBox();
    const photos = await box.start({ ttlMs: 1_500 });
    const id = await keep(photos);
    box.clock.advance(1_499);
    expect(await photos.read(id)).toBeDefined();
    box.clock.advance(1);
    expect(await photos.read(id)).toBeUndefined();
    expect(box.files()).toEqual([`${id}.jpg`]);
  });

  it("makes room for a newer one: by number", async () => {
    const box = new PhotoBox();
    const photos = await box.start({ maxCount: 3 });
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.push(await keep(photos));
      box.clock.advance(10);
    }
    expect(box.files()).toEqual(
      ids
        .slice(2)
        .map((id) => `${id}.jpg`)
        .sort(),
    );
  });

  it("makes room for a newer one: by size", async () => {
    const box = new PhotoBox();
    const photos = await box.start({ maxBytes: 10_000 });
    const [first, second, third] = [
      await keep(photos, jpeg(4_000)),
      await keep(photos, jpeg(4_000)),
      await keep(photos, jpeg(6_000)),
    ];
    expect(await photos.read(first ?? "")).toBeUndefined();
    expect(box.files()).toEqual([`${second}.jpg`, `${third}.jpg`].sort());
  });

  it("that arrives with many others leaves the allowed number", async () => {
    const box = new PhotoBox();
    const photos = await box.start({ maxCount: 4 });
    await Promise.all(Array.from({ length: 40 }, () => keep(photos)));
    expect(box.files().length).toBe(4);
  });

  it("is removed in small steps with many others", async () => {
    const box = new PhotoBox();
    const photos = await box.start();
    await Promise.all(Array.from({ length: 150 }, () => keep(photos)));
    box.clock.advance(hour - 1_000);
    const left: number[] = [];
    for (let step = 0; step < 4; step += 1) {
      box.clock.advance(1_000);
      await photos.settled();
      left.push(box.files().length);
    }
    expect(left).toEqual([86, 22, 0, 0]);
  });

  it("reaches its call even if it cannot be written", async () => {
    const box = new PhotoBox();
    const photos = await box.start();
    fs.rmSync(box.folder, { recursive: true });
    const { token } = photos.openTicket({ deviceId, callId: "call-1" });
    const claim = photos.claim(token, deviceId);
    if (claim.kind !== "granted") throw new TypeError(claim.kind);
    const picture = await photos.accept(claim.ticket, {
      bytes: jpeg(),
      mimeType: "image/jpeg",
      question: "?",
    });
    expect(photos.pictureOf(token)).toBe(picture);
    expect(box.faults).toEqual([expect.stringContaining("could not be stored")]);
    expect(await photos.read(picture?.id ?? "")).toBeUndefined();
  });

  it("is found by its id alone, never by a path", async () => {
    const box = new PhotoBox();
    const photos = await box.start();
    const id = await keep(photos);
    fs.writeFileSync(path.join(box.data, "secret.jpg"), "secret");
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
