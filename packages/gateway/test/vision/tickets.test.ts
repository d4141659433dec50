/** Tickets for photo uploads, their expiry, and uploads without one. */
import net from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { firmwareForm, formType } from "./form.ts";
import { jpeg } from "./pictures.ts";
import { deviceId, type Site, startSite, wordsOf } from "./vision-site.ts";

let site: Site;
beforeEach(async () => {
  site = await startSite();
});
afterEach(async () => {
  await site.stop();
  expect(site.faults.waiting).toEqual([]);
});

const form = firmwareForm("Who?", jpeg());
const uploadMs = 30_000;

describe("a ticket", () => {
  it("is random, without information", () => {
    const tokens = new Set(Array.from({ length: 100 }, () => site.openTicket()));
    expect(tokens.size).toBe(100);
    for (const token of tokens) expect(token).toMatch(/^[\w-]{32}$/);
  });

  it("has no photo before the upload, and none after it was closed", async () => {
    const token = site.openTicket();
    expect(site.photos.pictureOf(token)).toBeUndefined();
    await site.upload(form, { token });
    expect(site.photos.pictureOf(token)).toBeDefined();
    site.photos.closeTicket(token);
    site.photos.closeTicket(token);
    expect(site.photos.pictureOf(token)).toBeUndefined();
    expect(site.photos.pictureOf("no such ticket")).toBeUndefined();
  });

  it("is valid for one photo", async () => {
    const token = site.openTicket();
    await site.upload(form, { token });
    const first = site.photos.pictureOf(token);
    const words = wordsOf(await site.upload(firmwareForm("Again?", jpeg(500)), { token }));
    expect(words).toEqual({ success: false, message: expect.stringContaining("already sent") });
    expect(site.photos.pictureOf(token)).toBe(first);
    expect(site.files().length).toBe(1);
    expect(site.refused.waiting).toMatchObject([{ code: "already_sent", device: deviceId }]);
  });

  it("is valid for one of two simultaneous uploads", async () => {
    const token = site.openTicket();
    const slow = site.begin({ token });
    await site.clock.running(uploadMs);
    expect(wordsOf(await site.upload(firmwareForm("Second?", jpeg(999)), { token })).success).toBe(false);
    for (const chunk of form) slow.request.write(chunk);
    slow.request.end();
    expect(wordsOf(await slow.answer).success).toBe(true);
    expect(site.photos.pictureOf(token)?.question).toBe("Who?");
  });

  it("is consumed by a failed upload", async () => {
    const token = site.openTicket();
    expect(wordsOf(await site.upload(firmwareForm("?", Buffer.from("GIF89a")), { token })).success).toBe(
      false,
    );
    expect(wordsOf(await site.upload(form, { token })).message).toContain("already sent");
    expect(site.photos.pictureOf(token)).toBeUndefined();
  });

  it("that was closed delivers its photo to no call", async () => {
    const token = site.openTicket();
    site.photos.closeTicket(token);
    const next = site.openTicket();
    const words = wordsOf(await site.upload(form, { token }));
    expect(words).toEqual({ success: false, message: expect.stringContaining("has ended") });
    expect(site.photos.pictureOf(next)).toBeUndefined();
    expect(site.files()).toEqual([]);
  });

  it("that is closed during the upload delivers no photo", async () => {
    const token = site.openTicket();
    const { request, answer } = site.begin({ token });
    await site.clock.running(uploadMs);
    site.photos.closeTicket(token);
    for (const chunk of form) request.write(chunk);
    request.end();
    expect(wordsOf(await answer).message).toContain("has ended");
    expect(site.files()).toEqual([]);
    expect(site.refused.waiting).toMatchObject([{ code: "call_over", callId: "call-1" }]);
  });

  it("expires automatically, and is removed after the same time again", async () => {
    const token = site.openTicket();
    site.clock.advance(300_000);
    expect(wordsOf(await site.upload(form, { token })).message).toContain("has ended");
    site.clock.advance(300_000);
    site.openTicket();
    expect((await site.upload(form, { token })).status).toBe(401);
  });

  it("is one of a bounded number", () => {
    for (let count = 0; count < 10_000; count += 1) site.openTicket();
    expect(() => site.openTicket()).toThrow(expect.objectContaining({ code: "rate_limited" }));
    site.clock.advance(300_000);
    expect(() => site.openTicket()).not.toThrow();
  });

  it("is remembered for a while after it was closed, within a bound", async () => {
    const first = site.openTicket();
    site.photos.closeTicket(first);
    for (let count = 0; count < 1_000; count += 1) site.photos.closeTicket(site.openTicket());
    const last = site.openTicket();
    site.photos.closeTicket(last);
    expect((await site.upload(form, { token: first })).status).toBe(401);
    expect((await site.upload(form, { token: last })).status).toBe(200);
  });
});

describe("an upload without its own ticket", () => {
  const expectStranger = async (upload: Parameters<Site["begin"]>[0]) => {
    const { request, answer } = site.begin(upload);
    const { status, headers, text } = await answer;
    expect(status).toBe(401);
    expect(headers["content-type"]).toContain("application/problem+json");
    expect(headers.connection).toBe("close");
    expect(JSON.parse(text)).toMatchObject({ code: "unauthenticated", detail: expect.any(String) });
    request.destroy();
    expect((await site.refused.take()).code).toBe("unauthenticated");
    expect(site.files()).toEqual([]);
  };

  it("is rejected before the first byte of its body", async () => {
    site.openTicket();
    await expectStranger({});
    await expectStranger({ token: "guess" });
    await expectStranger({ token: "" });
    await expectStranger({ token: "x".repeat(4_000) });
    await expectStranger({ type: ";;" });
  });

  it("is rejected with the ticket of another device, which stays valid", async () => {
    const token = site.openTicket("aa:bb:cc:dd:ee:02");
    await expectStranger({ token });
    expect(wordsOf(await site.upload(form, { token, device: "AA-BB-CC-DD-EE-02" })).success).toBe(true);
  });

  it("is rejected with the closed ticket of another device", async () => {
    const token = site.openTicket("aa:bb:cc:dd:ee:02");
    site.photos.closeTicket(token);
    await expectStranger({ token });
  });

  it("is rejected without a Device-Id", async () => {
    const token = site.openTicket();
    await expectStranger({ token, device: "" });
    await expectStranger({ token, device: "../../etc" });
    await expectStranger({ token, headers: { "Client-Id": "with a space" } });
    expect(wordsOf(await site.upload(form, { token })).success).toBe(true);
  });

  it("is disconnected, however much it sends", async () => {
    const socket = net.connect(site.port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.on("error", () => undefined);
    const received: Buffer[] = [];
    socket.on("data", (data) => received.push(data));
    socket.write(
      `POST /vision/explain HTTP/1.1\r\nHost: x\r\nDevice-Id: ${deviceId}\r\nContent-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const endless = () => {
      while (!socket.destroyed && socket.write(`1000\r\n${"x".repeat(0x1000)}\r\n`));
    };
    socket.on("drain", endless);
    endless();
    await closed;
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
    if (received.length > 0) expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1.1 401 /);
  });

  it("is rejected unless it is a POST", async () => {
    const response = await fetch(`http://127.0.0.1:${site.port}/vision/explain`);
    expect(response.status).toBe(404);
  });
});
