/** File names in uploads are never used. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { fileHead, firmwareForm, formEnd, joined } from "./form.ts";
import { jpeg } from "./pictures.ts";
import { startSite, wordsOf } from "./vision-site.ts";

describe("file names in an upload", () => {
  it.each(["../../evil.jpg", "/etc/passwd", "..\\\\evil.jpg", "%2e%2e%2fevil", "a\0b.jpg", "camera.php"])(
    "never become names of files: %s",
    async (filename) => {
      const site = await startSite();
      const token = site.openTicket();
      const form = joined(fileHead(filename), jpeg(), "\r\n", formEnd);
      expect(wordsOf(await site.upload([form], { token })).success).toBe(true);
      expect(site.files()).toEqual([`${site.photos.pictureOf(token)?.id}.jpg`]);
      expect(fs.readdirSync(path.dirname(site.folder))).toEqual(["photos"]);
      await site.stop();
    },
  );

  it("do not identify photos: two with the same name are separate", async () => {
    const site = await startSite();
    for (const question of ["a", "b"]) {
      await site.upload(firmwareForm(question, jpeg()), { token: site.openTicket() });
    }
    expect(site.files().length).toBe(2);
    await site.stop();
  });
});
