/** A board's upload, byte by byte as the firmware sends it, and invalid variants. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileHead, firmwareForm, formEnd, joined, questionHead } from "./form.ts";
import { jpeg, png } from "./pictures.ts";
import { type Site, startSite, wordsOf } from "./vision-site.ts";

let site: Site;
beforeEach(async () => {
  site = await startSite();
});
afterEach(async () => {
  await site.stop();
  expect(site.faults.waiting).toEqual([]);
});

const refusal = async (form: Buffer, type?: string) => {
  const token = site.openTicket();
  const words = wordsOf(await site.upload([form], { token, ...(type === undefined ? {} : { type }) }));
  expect(site.photos.pictureOf(token)).toBeUndefined();
  expect(site.files()).toEqual([]);
  expect(words.success).toBe(false);
  const { code, reason } = await site.refused.take();
  expect(words.message).toBe(reason);
  return code;
};

describe("an upload", () => {
  it("as the firmware sends it reaches its call, is stored, and is answered", async () => {
    const token = site.openTicket();
    const picture = jpeg(20_000);
    const answer = await site.upload(firmwareForm("Who is there? 谁？", picture), { token });
    expect(wordsOf(answer)).toEqual({
      success: true,
      result: expect.stringContaining("is delivered to the caller"),
    });
    expect(answer.headers["content-type"]).toContain("application/json");
    expect(Number(answer.headers["content-length"])).toBe(Buffer.byteLength(answer.text));
    const got = site.photos.pictureOf(token);
    expect(got).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      mimeType: "image/jpeg",
      question: "Who is there? 谁？",
      sha256: createHash("sha256").update(picture).digest("hex"),
      at: site.clock.now(),
    });
    expect(got?.bytes.equals(picture)).toBe(true);
    expect(site.files()).toEqual([`${got?.id}.jpg`]);
    const file = path.join(site.folder, `${got?.id}.jpg`);
    expect(fs.readFileSync(file).equals(picture)).toBe(true);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(site.seen.waiting).toMatchObject([{ callId: "call-1", bytes: 20_000, problem: undefined }]);
    expect(site.refused.waiting).toEqual([]);
  });

  it("can have a slash at the end of its address", async () => {
    const token = site.openTicket();
    const answer = await site.upload(firmwareForm("?", jpeg()), { token, path: "/vision/explain/" });
    expect(wordsOf(answer).success).toBe(true);
  });

  it("can be a PNG with any declared type", async () => {
    const token = site.openTicket();
    expect(wordsOf(await site.upload(firmwareForm("?", png()), { token })).success).toBe(true);
    expect(site.photos.pictureOf(token)?.mimeType).toBe("image/png");
    expect(site.files()[0]).toMatch(/\.png$/);
  });

  it("can be a JPEG with fill bytes before its markers, and with a late frame header", async () => {
    const [head, rest] = [jpeg().subarray(0, 20), jpeg().subarray(20)];
    const comment = joined(Buffer.from("fffffffeffff", "hex"), Buffer.alloc(65_533, 0x20));
    const token = site.openTicket();
    const form = firmwareForm("?", joined(head, comment, Buffer.from("ffff", "hex"), rest));
    expect(wordsOf(await site.upload(form, { token })).success).toBe(true);
  });

  it("can arrive in chunks of one byte", async () => {
    const token = site.openTicket();
    const form = Buffer.concat(firmwareForm("What?", jpeg(120)));
    const chunks = [...form].map((byte) => Buffer.from([byte]));
    expect(wordsOf(await site.upload(chunks, { token })).success).toBe(true);
    expect(site.photos.pictureOf(token)?.bytes.equals(jpeg(120))).toBe(true);
    expect(site.photos.pictureOf(token)?.question).toBe("What?");
  });

  it("can be split at any byte", async () => {
    const form = Buffer.concat(firmwareForm("What?", jpeg(120)));
    for (let at = 1; at < form.length; at += 1) {
      const token = site.openTicket();
      const answer = await site.upload([form.subarray(0, at), form.subarray(at)], { token });
      expect(wordsOf(answer).success, `split at ${at}`).toBe(true);
      expect(site.photos.pictureOf(token)?.bytes.equals(jpeg(120)), `split at ${at}`).toBe(true);
      expect(site.photos.pictureOf(token)?.question, `split at ${at}`).toBe("What?");
      site.photos.closeTicket(token);
    }
  });

  it("can have a Content-Length, and a line like a boundary inside its image", async () => {
    const token = site.openTicket();
    const picture = joined(jpeg(), "\r\n----ESP32_CAMERA_BOUNDARY\r\n--\r\n------ESP32_CAMERA");
    const form = Buffer.concat(firmwareForm("?", picture));
    const answer = await site.upload([form], { token, length: form.length });
    expect(wordsOf(answer).success).toBe(true);
    expect(site.photos.pictureOf(token)?.bytes.equals(picture)).toBe(true);
  });

  it.each([100, 70_000, 1_000_000])("can have its question after an image of %i bytes", async (size) => {
    const token = site.openTicket();
    const form = joined(fileHead(), jpeg(size), "\r\n", questionHead(), "Behind?", "\r\n", formEnd);
    expect(wordsOf(await site.upload([form], { token })).success).toBe(true);
    expect(site.photos.pictureOf(token)?.question).toBe("Behind?");
    expect(site.photos.pictureOf(token)?.bytes.length).toBe(size);
  });

  it("can have no question, and unknown parts", async () => {
    const token = site.openTicket();
    const form = joined(questionHead("toast"), "x\r\n", fileHead(), jpeg(), "\r\n", formEnd);
    expect(wordsOf(await site.upload([form], { token })).success).toBe(true);
    expect(site.photos.pictureOf(token)?.question).toBe("");
  });

  it("of 4 MiB is accepted, one byte more is not", async () => {
    const most = 4 * 1024 * 1024;
    const token = site.openTicket();
    expect(wordsOf(await site.upload(firmwareForm("?", jpeg(most)), { token })).success).toBe(true);
    const second = site.openTicket();
    const words = wordsOf(await site.upload(firmwareForm("?", jpeg(most + 1)), { token: second }));
    expect(words).toEqual({ success: false, message: "The picture is larger than 4 MiB." });
    expect(site.files().length).toBe(1);
  });
});

describe("an upload is rejected with a message", () => {
  const withFile = (bytes: Buffer | string) =>
    joined(questionHead(), "?\r\n", fileHead(), bytes, "\r\n", formEnd);

  it.each([
    ["a GIF", Buffer.from("GIF89a\x01\x00\x01\x00\x80\x00\x00", "latin1")],
    ["a page", Buffer.from("<!doctype html><html><body>hello</body></html>")],
    ["a drawing", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ["two right bytes and nothing behind them", Buffer.from("ffd8ff", "hex")],
    ["a JPEG without a frame", Buffer.from("ffd8ffe000104a46494600010100000100010000ffd9", "hex")],
    ["a JPEG of no width", jpeg(200, 0, 240)],
    ["a JPEG of no height", jpeg(200, 320, 0)],
    ["a JPEG too wide for any camera", jpeg(200, 65_535, 2)],
    ["a PNG of no height", png(200, 64, 0)],
    ["a PNG too high for any camera", png(200, 2, 100_000)],
    ["a PNG's first bytes", png().subarray(0, 20)],
  ])("for %s", async (_name, bytes) => {
    expect(await refusal(withFile(bytes))).toBe("not_a_picture");
  });

  it("without an image, or with an empty one", async () => {
    expect(await refusal(joined(questionHead(), "?\r\n", formEnd))).toBe("no_picture");
    expect(await refusal(withFile(""))).toBe("no_picture");
    const elsewhere = joined(fileHead("camera.jpg", "image/jpeg", "image"), jpeg(), "\r\n", formEnd);
    expect(await refusal(elsewhere)).toBe("no_picture");
    expect(await refusal(Buffer.from(formEnd))).toBe("no_picture");
  });

  it("with a question longer than 4 KiB", async () => {
    const form = (size: number) => firmwareForm("q".repeat(size), jpeg());
    expect(await refusal(Buffer.concat(form(4_097)))).toBe("question_too_long");
    const token = site.openTicket();
    expect(wordsOf(await site.upload(form(4_096), { token })).success).toBe(true);
  });

  it("with more than four parts, or more than one image", async () => {
    const field = joined(questionHead("a"), "1\r\n");
    const five = joined(field, field, field, field, fileHead(), jpeg(), "\r\n", formEnd);
    expect(await refusal(five)).toBe("too_many_parts");
    const file = joined(fileHead(), jpeg(), "\r\n");
    expect(await refusal(joined(file, file, formEnd))).toBe("too_many_parts");
  });

  it.each([
    ["JSON", "application/json", '{"question":"?"}'],
    ["broken JSON", "application/json", "{"],
    ["a bare picture", "image/jpeg", jpeg()],
    ["a form of another kind", "application/x-www-form-urlencoded", "question=1"],
    ["a form without a boundary", "multipart/form-data", joined(fileHead(), jpeg(), "\r\n", formEnd)],
    ["a type that is none", ";;", "x"],
    ["a type with an odd end", "multipart/form-data;;=", "x"],
    ["another boundary", "multipart/form-data; boundary=other", joined(fileHead(), jpeg(), "\r\n", formEnd)],
  ])("for %s", async (_name, type, body) => {
    expect(["not_a_form", "no_picture"]).toContain(await refusal(joined(body), type));
  });

  it("without a type at all", async () => {
    const upload = { token: site.openTicket(), type: undefined };
    expect(wordsOf(await site.upload([Buffer.from("x")], upload)).success).toBe(false);
  });

  it("without a body at all", async () => {
    expect(wordsOf(await site.upload([], { token: site.openTicket() })).success).toBe(false);
  });
});
