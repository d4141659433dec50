/** Download addresses of images: their devices, invalid addresses, and concurrent downloads. */
import { once } from "node:events";
import net from "node:net";
import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeImage } from "../firmware-image.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { openSite, type Site } from "../site.ts";
import { askAtBoot, boardId, fetchImage, handIn, offerOf } from "./boards.ts";

async function offeredSite(clock = new ManualClock()): Promise<{ site: Site; url: string; id: string }> {
  const site = await openSite({ clock });
  const { id } = (await handIn(site, makeImage())).body;
  const offer = await offerOf(site);
  return { site, url: offer?.url ?? "", id: String(id) };
}

/** More than a socket buffers without a reader. */
const large = makeImage({ codeBytes: 12_000_000 });

const notHere = JSON.stringify({
  type: "urn:tendon:error:not_found",
  title: "Not found",
  status: 404,
  code: "not_found",
  detail: "there is no firmware at this address",
  retryable: false,
});

async function isRefused(url: string): Promise<void> {
  const { status, bytes } = await fetchImage(url);
  expect([status, bytes.toString()]).toEqual([404, notHere]);
}

/** A board that starts a download and reads only the first bytes. */
async function stuckBoard(url: string): Promise<net.Socket> {
  const { hostname, port, pathname } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  await once(socket, "data");
  socket.pause();
  return socket;
}

describe("an address", () => {
  it("[FWU-4] works repeatedly for its device until it expires", async () => {
    const clock = new ManualClock();
    const { site, url } = await offeredSite(clock);
    for (let time = 0; time < 3; time += 1) expect((await fetchImage(url)).status).toBe(200);
    const other = (await offerOf(site, { id: boardId(2) }))?.url ?? "";
    clock.advance(30 * 60_000 - 1);
    expect((await fetchImage(other)).status).toBe(200);
    clock.advance(1);
    await isRefused(other);
    await isRefused(url);
  });

  it("[FWU-4] with any character changed, added or removed is rejected with the same answer", async () => {
    const { url } = await offeredSite();
    const at = url.lastIndexOf("/") + 1;
    const word = url.slice(at);
    for (let index = 0; index < word.length; index += 1) {
      const other = word[index] === "A" ? "B" : "A";
      await isRefused(`${url.slice(0, at)}${word.slice(0, index)}${other}${word.slice(index + 1)}`);
    }
    for (const wrong of [
      word.slice(0, -1),
      `${word}A`,
      `${word}=`,
      word.slice(0, 20),
      "x",
      "A".repeat(300),
      word.toLowerCase(),
    ])
      await isRefused(`${url.slice(0, at)}${wrong}`);
    expect((await fetchImage(url)).status).toBe(200);
  });

  it("[FWU-4] of one gateway is rejected by another", async () => {
    const one = await offeredSite();
    const other = await offeredSite();
    await isRefused(`${other.site.url}${new URL(one.url).pathname}`);
  });

  it.each([
    [
      "halted",
      async (site: Site, id: string) => await site.rest("PATCH", `/firmware/${id}`, { state: "halted" }),
    ],
    ["removed", async (site: Site, id: string) => await site.rest("DELETE", `/firmware/${id}`)],
  ])("[FWU-4] of an image that was %s is rejected", async (_, act) => {
    const { site, url, id } = await offeredSite();
    expect((await act(site, id)).status).toBeLessThan(300);
    await isRefused(url);
  });

  it("[FWU-5] supports only GET, and ignores a range", async () => {
    const { url } = await offeredSite();
    for (const method of ["HEAD", "POST", "DELETE"]) expect((await fetchImage(url, method)).status).toBe(404);
    const ranged = await fetchImage(url, "GET", { range: "bytes=0-3" });
    expect([ranged.status, ranged.bytes.length]).toEqual([200, makeImage().length]);
  });

  it("[FWU-4] is in no log line, event or REST answer", async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString("utf8"));
        done();
      },
    });
    const site = await openSite({ logger: pino({ level: "trace" }, stream) });
    await site.join({ deviceId: boardId(1), clientId: `client-of-${boardId(1)}` });
    const events = await site.events();
    await handIn(site, makeImage());
    const words: string[] = [];
    for (const version of ["2.4.2", "2.4.2"]) {
      const url = (await offerOf(site, { id: boardId(3), version }))?.url ?? "";
      const word = url.slice(url.lastIndexOf("/") + 1);
      words.push(word);
      await fetchImage(`${url.slice(0, -1)}_`);
      await fetchImage(url, "POST");
      if (words.length === 2) await fetchImage(url);
    }
    await offerOf(site, { id: boardId(3), version: "2.4.2" });
    const shown = [
      ...lines,
      ...events.seen.map(({ raw }) => raw),
      (await site.rest("GET", "/firmware")).text,
      (await site.rest("GET", "/devices")).text,
    ].join("\n");
    expect(lines.length).toBeGreaterThan(3);
    for (const word of words) {
      expect(word.length).toBeGreaterThan(50);
      // The first part has the time and the image; only the signature is secret.
      expect(shown).not.toContain(word.slice(-20));
    }
  });

  it("[FWU-6] whose download broke off does not count: the board is offered the image again", async () => {
    const site = await openSite();
    const { id } = (await handIn(site, large)).body;
    const url = (await offerOf(site))?.url ?? "";
    (await stuckBoard(url)).destroy();
    expect(await offerOf(site)).toMatchObject({ version: "2.5.0" });
    const view = (await site.rest("GET", `/firmware/${String(id)}`)).body;
    expect(view["devices"]).toEqual({ offered: 1, fetched: 0, updated: 0, failed: 0 });
  });
});

describe("many boards at once", () => {
  const many = 32;

  async function crowd(): Promise<{ site: Site; urls: string[]; clock: ManualClock }> {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    await handIn(site, large);
    const urls: string[] = [];
    for (let number = 1; number <= many + 1; number += 1) {
      // Unused offers count for half a minute.
      if (number === many) clock.advance(30_000);
      urls.push((await offerOf(site, { id: boardId(number) }))?.url ?? "");
    }
    return { site, urls, clock };
  }

  it("[FWU-5] 32 download, the next is rejected as busy, and no more offers are made meanwhile", async () => {
    const { site, urls, clock } = await crowd();
    const last = urls.pop() ?? "";
    const stuck = await Promise.all(urls.map(stuckBoard));
    const refused = await fetchImage(last);
    expect(JSON.parse(refused.bytes.toString())).toMatchObject({
      code: "busy",
      status: 503,
      retryable: true,
    });
    clock.advance(30_000);
    expect(await offerOf(site, { id: boardId(99) })).toBeUndefined();
    // They still get their settings.
    expect((await askAtBoot(site, { id: boardId(99) })).body["mqtt"]).toBeDefined();
    stuck[0]?.destroy();
    await until(async () => (await fetchImage(last)).status === 200, "a free place");
  });

  it("[FWU-5] a download is ended if it is not read, or if the same board starts another", async () => {
    const { urls, clock } = await crowd();
    const [first = "", second = ""] = urls;
    const older = await stuckBoard(first);
    const ended = once(older, "close");
    expect((await fetchImage(first)).bytes.length).toBe(large.length);
    older.resume();
    await ended;
    const silent = await stuckBoard(second);
    const cut = once(silent, "close");
    clock.advance(60_000);
    clock.advance(60_000);
    silent.resume();
    await cut;
    expect(silent.bytesRead).toBeLessThan(large.length);
  });
});
