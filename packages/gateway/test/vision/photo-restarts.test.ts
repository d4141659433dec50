/** How a start handles the files in the photo folder. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { hour, keep, PhotoBox } from "./photo-box.ts";
import { jpeg, png } from "./pictures.ts";

describe("a restart", () => {
  it("keeps current photos and removes old ones", async () => {
    const box = new PhotoBox();
    const before = await box.start();
    const old = await keep(before);
    box.clock.advance(hour / 2);
    const young = await keep(before, png(), "image/png");
    await before.stop();
    box.clock.advance(hour / 2);
    const after = await box.start();
    await after.settled();
    expect(box.files()).toEqual([`${young}.png`]);
    expect(await after.read(young)).toEqual({ mimeType: "image/png", bytes: png() });
    expect(await after.read(old)).toBeUndefined();
    box.clock.advance(hour / 2);
    await after.settled();
    expect(box.files()).toEqual([]);
  });

  it("with tighter settings keeps the newest", async () => {
    const box = new PhotoBox();
    const before = await box.start();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      ids.push(await keep(before));
      box.clock.advance(1_000);
    }
    await before.stop();
    const after = await box.start({ maxCount: 2 });
    await after.settled();
    expect(box.files()).toEqual(
      ids
        .slice(4)
        .map((id) => `${id}.jpg`)
        .sort(),
    );
  });

  it("removes unfinished files, and does not touch foreign files", async () => {
    const box = new PhotoBox();
    fs.mkdirSync(box.folder);
    const foreign = ["holiday.jpg", "ABCDEF.part", `${"0".repeat(32)}.gif`, `${"0".repeat(31)}g.jpg`];
    for (const name of foreign) fs.writeFileSync(path.join(box.folder, name), "x");
    fs.mkdirSync(path.join(box.folder, `${"1".repeat(32)}.jpg`));
    fs.symlinkSync(path.join(box.folder, "holiday.jpg"), path.join(box.folder, `${"2".repeat(32)}.jpg`));
    const there = box.files();
    fs.writeFileSync(path.join(box.folder, `${"3".repeat(32)}.part`), "x");
    const photos = await box.start();
    box.clock.advance(2 * hour);
    await photos.settled();
    expect(box.files()).toEqual(there);
    expect(await photos.read("2".repeat(32))).toBeUndefined();
  });

  it("handles a file with a future date", async () => {
    const box = new PhotoBox();
    fs.mkdirSync(box.folder);
    const name = `${"4".repeat(32)}.jpg`;
    fs.writeFileSync(path.join(box.folder, name), jpeg());
    const far = box.clock.now() / 1000 + 10 * 365 * 86_400;
    fs.utimesSync(path.join(box.folder, name), far, far);
    const photos = await box.start();
    box.clock.advance(hour);
    await photos.settled();
    expect(box.files()).toEqual([]);
  });

  it("fails if the folder cannot be created", async () => {
    const box = new PhotoBox();
    fs.writeFileSync(box.folder, "a file");
    await expect(box.start()).rejects.toMatchObject({ name: "StartError" });
  });
});
