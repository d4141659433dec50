/** Uploads that end too early, too late or never: each is answered if possible, without other effects. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileHead, firmwareForm, formEnd, joined, questionHead } from "./form.ts";
import { jpeg } from "./pictures.ts";
import { type Site, startSite, wordsOf } from "./vision-site.ts";

let site: Site;
beforeEach(async () => {
  site = await startSite();
});
afterEach(async () => {
  await site.stop();
  expect(site.faults.waiting).toEqual([]);
});

const uploadMs = 30_000;

describe("an upload that ends too early", () => {
  it("at any byte of its form is rejected with a message", async () => {
    const picture = jpeg(120);
    const form = Buffer.concat(firmwareForm("What?", picture));
    // After the boundary that ends the image, the upload is complete.
    const whole = form.length - "--\r\n".length;
    for (let at = 0; at < whole; at += 1) {
      const token = site.openTicket();
      const words = wordsOf(await site.upload([form.subarray(0, at)], { token }));
      expect(words.success, `cut at ${at}`).toBe(false);
      expect(site.photos.pictureOf(token), `cut at ${at}`).toBeUndefined();
      site.photos.closeTicket(token);
    }
    expect(site.files()).toEqual([]);
  });

  it.each([0, 1, 3, 5, 8])(
    "because its connection breaks after %i chunks, delivers no photo",
    async (count) => {
      const token = site.openTicket();
      const { request } = site.begin({ token });
      await site.clock.running(uploadMs);
      const chunks = firmwareForm("What?", jpeg(2_000));
      for (const chunk of chunks.slice(0, count)) {
        await new Promise((resolve) => request.write(chunk, resolve));
      }
      request.destroy();
      expect((await site.refused.take()).code).toBe("cut_off");
      expect(site.photos.pictureOf(token)).toBeUndefined();
      expect(site.files()).toEqual([]);
    },
  );

  it("because its connection breaks before the last chunk, delivers no photo", async () => {
    const token = site.openTicket();
    const { request } = site.begin({ token });
    for (const chunk of firmwareForm("What?", jpeg())) {
      await new Promise((resolve) => request.write(chunk, resolve));
    }
    request.destroy();
    expect((await site.refused.take()).code).toBe("cut_off");
    expect(site.photos.pictureOf(token)).toBeUndefined();
  });
});

describe("an upload that does not end", () => {
  it("is answered and disconnected after 30 s", async () => {
    const token = site.openTicket();
    const { request, answer } = site.begin({ token, headers: { Connection: "keep-alive" } });
    request.write(joined(questionHead(), "?\r\n", fileHead(), jpeg()));
    await site.clock.running(uploadMs);
    site.clock.advance(uploadMs);
    const { headers, ...rest } = await answer;
    expect(wordsOf({ headers, ...rest }).message).toContain("30 seconds");
    expect(headers.connection).toBe("close");
    expect(site.photos.pictureOf(token)).toBeUndefined();
  });

  it("is answered after 30 s even if its call has ended", async () => {
    const token = site.openTicket();
    site.photos.closeTicket(token);
    const { answer } = site.begin({ token });
    await site.clock.running(uploadMs);
    site.clock.advance(uploadMs);
    expect(wordsOf(await answer).success).toBe(false);
  });

  it.each([
    ["in its picture", joined(questionHead(), "?\r\n", fileHead(), jpeg())],
    ["before its first part", Buffer.from("nothing of a form\r\n")],
    ["in a question", joined(questionHead())],
    ["in the head of a part", Buffer.from(fileHead().slice(0, 70))],
    ["behind its end", joined(fileHead(), jpeg(), "\r\n", formEnd)],
  ])("is disconnected after 8 MiB %s", async (_where, start) => {
    const token = site.openTicket();
    const { request, answer } = site.begin({ token });
    request.write(start);
    const block = Buffer.alloc(64 * 1024, 0x2e);
    let sent = 0;
    const more = () => {
      while (sent < 64 * 1024 * 1024 && !request.destroyed) {
        sent += block.length;
        if (!request.write(block)) return;
      }
    };
    request.on("drain", more);
    more();
    // A client that still sends may lose the connection before the answer.
    const words = await answer.then(wordsOf).catch(() => undefined);
    request.destroy();
    expect(words?.success ?? false).toBe(false);
    expect((await site.refused.take()).code).toBe("picture_too_large");
    expect(site.files()).toEqual([]);
  });
});

describe("a rejected upload", () => {
  it("can be followed by another on the same connection", async () => {
    const upload = { token: site.openTicket(), headers: { Connection: "keep-alive" } };
    const { request, answer } = site.begin(upload);
    request.end(joined(fileHead(), "GIF89a", "\r\n", formEnd));
    expect((await answer).headers.connection).toBe("keep-alive");
    request.destroy();
  });
});

describe("too many simultaneous uploads", () => {
  it("are asked to retry", async () => {
    const begun = Array.from({ length: 128 }, () => site.begin({ token: site.openTicket() }));
    await site.clock.running(uploadMs, 128);
    const form = firmwareForm("?", jpeg());
    const words = wordsOf(await site.upload(form, { token: site.openTicket() }));
    expect(words).toEqual({ success: false, message: expect.stringContaining("Try again") });
    for (const { request, answer } of begun) {
      for (const chunk of form) request.write(chunk);
      request.end();
      expect(wordsOf(await answer).success).toBe(true);
    }
    expect(wordsOf(await site.upload(form, { token: site.openTicket() })).success).toBe(true);
  });
});

describe("any bytes", () => {
  it("get a valid answer", async () => {
    const pieces = [
      questionHead(),
      fileHead(),
      formEnd,
      "\r\n",
      "--",
      "\r\n\r\n",
      "Content-Type: application/json\r\n",
    ];
    const piece = fc.oneof(
      fc
        .constantFrom(...pieces, fileHead("../../etc/passwd"), questionHead("__proto__"))
        .map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(jpeg(90)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (chunks) => {
        const token = site.openTicket();
        const words = wordsOf(
          await site.upload(
            chunks.filter(({ length }) => length > 0),
            { token },
          ),
        );
        expect(words.success).toBe(site.photos.pictureOf(token) !== undefined);
        site.photos.closeTicket(token);
      }),
      { numRuns: 300 },
    );
    for (const file of site.files()) expect(file).toMatch(/^[0-9a-f]{32}\.jpg$/);
  });
});
