/** Boards close TCP first: the gateway delays its FIN after an answer [OTA-10]. */
import net from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { handIn, offerOf } from "./firmware/boards.ts";
import { makeImage } from "./firmware-image.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { type Fields, tool } from "./raw-device.ts";
import { openSite, type Site, startSite } from "./site.ts";

/** A board's HTTP client, byte by byte. */
class Board {
  readonly socket: net.Socket;
  heard = Buffer.alloc(0);
  /** The gateway has sent its FIN. */
  finished = false;
  closed = false;

  constructor(url: string) {
    this.socket = net.connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void this.socket.destroy());
    this.socket.on("data", (chunk: Buffer) => {
      this.heard = Buffer.concat([this.heard, chunk]);
    });
    this.socket.on("end", () => {
      this.finished = true;
    });
    this.socket.on("close", () => {
      this.closed = true;
    });
    this.socket.on("error", () => undefined);
  }

  ask(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer | string = "",
  ): void {
    const lines = Object.entries({
      Host: "127.0.0.1",
      Connection: "close",
      "Content-Length": String(Buffer.byteLength(body)),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    this.socket.write(body);
  }

  /** The status, once the whole answer has arrived. */
  async answer(): Promise<number> {
    return await until(() => {
      const text = this.heard.toString("latin1");
      const head = text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (head === -1 || this.heard.length < head + 4 + length) return undefined;
      expect(this.heard.length).toBe(head + 4 + length);
      expect(text).toMatch(/\r\nconnection: close\r\n/i);
      return Number(text.slice(9, 12));
    }, "the whole answer");
  }
}

const clock = new ManualClock();
let site: Site;

beforeAll(async () => {
  site = await startSite({ clock });
});

afterAll(async () => {
  await site.stop();
});

const identity = { "Device-Id": "02:00:00:00:00:01", "Client-Id": "client-of-02:00:00:00:00:01" };

/** The smallest image: 16 by 16 empty pixels. */
const jpeg = Buffer.from("ffd8ffc0000b080010001001011100ffd9", "hex");

async function askVision(board: Board): Promise<void> {
  const camera = "self.camera.take_photo";
  const device = await site.join({ deviceId: "02:00:00:00:00:0c", tools: [tool(camera)] });
  const running = site.call(device.id, camera);
  const { id, params } = await device.nextRequest("initialize");
  const { vision } = params["capabilities"] as { vision: { token: string } };
  device.reply(id, {});
  const call = await device.nextRequest("tools/call");
  const part =
    'Content-Disposition: form-data; name="file"; filename="camera.jpg"\r\nContent-Type: image/jpeg';
  const body = Buffer.concat([Buffer.from(`--b\r\n${part}\r\n\r\n`), jpeg, Buffer.from("\r\n--b--\r\n")]);
  const headers = { "Device-Id": device.id, Authorization: `Bearer ${vision.token}` };
  board.ask(
    "POST",
    "/vision/explain",
    { ...headers, "Content-Type": "multipart/form-data; boundary=b" },
    body,
  );
  await board.answer();
  device.reply(call.id, { content: [{ type: "text", text: "{}" }] } satisfies Fields);
  expect((await running).status).toBe(200);
  device.cut();
}

describe("an answer to a board", () => {
  it.each<[string, number, (board: Board) => Promise<void> | void]>([
    ["to OTA", 200, (board) => board.ask("POST", "/xiaozhi/ota/", identity, "{}")],
    ["to an OTA request without an identity", 400, (board) => board.ask("POST", "/xiaozhi/ota/", {})],
    ["to an activation", 200, (board) => board.ask("POST", "/xiaozhi/ota/activate", identity, "{}")],
    ["to a picture", 200, askVision],
    ["to a picture that no call waits for", 401, (board) => board.ask("POST", "/vision/explain", identity)],
    ["to a screenshot that no call waits for", 401, (board) => board.ask("POST", "/vision/snapshot/x", {})],
    [
      "that is firmware",
      200,
      async (board) => {
        await handIn(site, makeImage());
        const offer = await offerOf(site);
        board.ask("GET", new URL(offer?.url ?? "").pathname, {});
      },
    ],
    ["that there is no such firmware", 404, (board) => board.ask("GET", "/xiaozhi/firmware/x", {})],
  ])("[OTA-10] %s is complete at once, and the FIN follows a second later", async (_, status, ask) => {
    const board = new Board(site.url);
    await ask(board);
    expect(await board.answer()).toBe(status);
    clock.advance(999);
    // A round trip on another connection: an earlier FIN would have arrived.
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    expect(board.finished).toBe(false);
    clock.advance(1);
    await until(() => board.finished, "the gateway's FIN");
  });

  it("[OTA-10] allows the board to close at any time, and keeps no state of it", async () => {
    const before = clock.pending;
    const board = new Board(site.url);
    board.ask("POST", "/xiaozhi/ota/", identity, "{}");
    await board.answer();
    await until(() => clock.pending === before + 1, "the connection to be held");
    board.socket.end();
    await until(() => board.closed, "the end of the connection");
    await until(() => clock.pending === before, "the timer to be gone");
  });

  it("[OTA-10] is the last on its connection, even if more requests follow", async () => {
    const board = new Board(site.url);
    // Without `Connection: close` in the request: the gateway sends it in its answer, because it has not read the body.
    const headers = { Connection: "keep-alive", "Content-Length": "100" };
    board.ask("POST", "/vision/explain", headers);
    expect(await board.answer()).toBe(401);
    board.socket.write(`${"x".repeat(100)}GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    clock.advance(1_000);
    await until(() => board.finished, "the gateway's FIN");
    expect(board.heard.toString().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it("[OTA-10] on a kept-alive connection does not affect later requests", async () => {
    const board = new Board(site.url);
    board.ask("POST", "/xiaozhi/ota/", { ...identity, Connection: "keep-alive" }, "{}");
    await until(() => board.heard.includes("server_time"), "the answer");
    board.heard = Buffer.alloc(0);
    board.ask("GET", "/healthz", {});
    expect(await board.answer()).toBe(200);
    await until(() => board.finished, "the gateway's FIN, with no time passing");
  });

  it("[OTA-10] is not delayed when 512 others are", async () => {
    const held = Array.from({ length: 512 }, () => new Board(site.url));
    for (const board of held) board.ask("GET", "/xiaozhi/firmware/x", {});
    for (const board of held) expect(await board.answer()).toBe(404);
    expect(held.filter(({ finished }) => finished)).toEqual([]);
    const last = new Board(site.url);
    last.ask("GET", "/xiaozhi/firmware/x", {});
    expect(await last.answer()).toBe(404);
    await until(() => last.finished, "the FIN of the one too many");
    clock.advance(1_000);
    await until(() => held.every(({ finished }) => finished), "the FINs of the others");
  });

  it("[OTA-10] does not delay the gateway's stop", async () => {
    const own = await openSite({ clock: new ManualClock() });
    const board = new Board(own.url);
    board.ask("POST", "/xiaozhi/ota/", identity, "{}");
    await board.answer();
    await own.stop();
    await until(() => board.finished || board.closed, "the end of the connection");
  });
});

it("[OTA-10] an answer to another client ends its connection at once", async () => {
  const board = new Board(site.url);
  board.ask("GET", "/healthz", {});
  expect(await board.answer()).toBe(200);
  await until(() => board.finished, "the gateway's FIN, with no time passing");
});
