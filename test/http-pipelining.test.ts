/** Clients that send many requests on one connection, and clients that never read the answers. */
import fs from "node:fs";
import net from "node:net";
import { limits } from "@tendon/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { startServe, temporaryFolder } from "../packages/cli/test/run-tendon.ts";
import { askAll } from "./http-client.ts";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { tool } from "./raw-device.ts";
import { adminToken, firstDevice, openSite } from "./site.ts";

class Pipeline {
  readonly socket: net.Socket;
  heard = "";
  ended = false;

  private constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.ended = true;
    });
  }

  static async connect(url: string): Promise<Pipeline> {
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve) => socket.once("connect", resolve));
    return new Pipeline(socket);
  }

  get(path: string, count: number): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`.repeat(count));
  }

  call(device: string, name: string): void {
    const body = '{"arguments":{}}';
    this.socket.write(
      `POST /api/v1/devices/${device}/tools/${name}/call HTTP/1.1\r\nhost: 127.0.0.1\r\n` +
        `authorization: Bearer ${adminToken}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  read(): void {
    this.socket.on("data", (chunk: Buffer) => {
      this.heard += chunk.toString("latin1");
    });
  }

  statuses(): string[] {
    return [...this.heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = ""]) => status);
  }
}

const openFiles = () => fs.readdirSync("/dev/fd").length;

describe("requests on one connection", () => {
  it("are answered in their order, a few at a time", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [tool("a")] });
    const client = await Pipeline.connect(site.url);
    client.read();
    // If all ran at once, the last ones would find the device's queue full.
    const count = limits.pipelinedRequests.max * 4;
    for (let sent = 0; sent < count; sent += 1) client.call(firstDevice, "a");
    client.get("/healthz", 1);
    for (let answered = 0; answered < count; answered += 1) {
      const { id } = await device.nextRequest("tools/call");
      device.reply(id, { content: [], isError: false });
    }
    await until(() => client.statuses().length === count + 1, "an answer to each");
    expect(new Set(client.statuses())).toEqual(new Set(["200"]));
    expect(client.heard.lastIndexOf('"status":"ok"')).toBeGreaterThan(client.heard.lastIndexOf('"callId"'));
  });

  it("end with the connection, including those that were not answered yet", async () => {
    const site = await openSite();
    const other = "02:00:00:00:00:02";
    const first = await site.join({ tools: [tool("a")] });
    const second = await site.join({ deviceId: other, tools: [tool("a")] });
    const events = await site.events("?type=call.finished");
    const client = await Pipeline.connect(site.url);
    client.call(firstDevice, "a");
    client.call(other, "a");
    await Promise.all([first.nextRequest("tools/call"), second.nextRequest("tools/call")]);
    client.socket.destroy();
    const ended = [await events.next(), await events.next()];
    expect(ended.map(({ device }) => device).sort()).toEqual([firstDevice, other]);
  });

  it("open no file that stays open after the connection", async () => {
    const site = await openSite();
    const page = "/docs/static/swagger-ui-bundle.js";
    expect((await askAll(site.url, { path: page })).status).toBe(200);
    const before = openFiles();
    const clients = await Promise.all(Array.from({ length: 10 }, () => Pipeline.connect(site.url)));
    for (const client of clients) client.get(page, 100);
    // Served after theirs were read.
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    for (const client of clients) client.socket.destroy();
    await until(() => openFiles() <= before, "as many open files as before");
  });
});

describe("a client that never reads", () => {
  it("does not fill the memory", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const { process, url } = await startServe(folder.path, [], { NODE_OPTIONS: "--max-old-space-size=200" });
    onTestFinished(async () => void (await process.end("SIGKILL")));
    for (let batch = 0; batch < 8; batch += 1) {
      const client = await Pipeline.connect(url);
      client.get("/api/v1/openapi.json", 1_000);
      expect((await askAll(url, { path: "/healthz" })).status).toBe(200);
    }
    expect((await process.end()).code).toBe(0);
  });

  it("is disconnected when all unread answers exceed a bound, the one with the most first", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const size = (await askAll(site.url, { path: "/docs/static/swagger-ui-bundle.js" })).text.length;
    const modest = await Pipeline.connect(site.url);
    modest.get("/docs/static/swagger-ui-bundle.js", 1);
    const greedy: Pipeline[] = [];
    // Each leaves at least fifteen answers in the gateway, whatever the system buffers.
    const needed = Math.ceil(
      (limits.unsentAnswerBytes.max * 1.5) / (size * (limits.pipelinedRequests.max - 4)),
    );
    for (let count = 0; count < needed; count += 1) {
      const client = await Pipeline.connect(site.url);
      client.get("/docs/static/swagger-ui-bundle.js", limits.pipelinedRequests.max);
      greedy.push(client);
    }
    expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
    clock.advance(2_000);
    for (const client of greedy) client.read();
    await until(() => greedy.some(({ ended }) => ended), "the end of one");
    expect(await site.metric('tendon_requests_limited_total{by="connection"}')).toBeGreaterThan(0);
    modest.read();
    await until(() => modest.heard.length > size, "the whole answer");
  });

  it("is disconnected when too many of its requests wait", async () => {
    const site = await openSite();
    const clients: Pipeline[] = [];
    // Requests after an endless stream wait forever.
    const stream = `GET /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${adminToken}\r\n\r\n`;
    while (clients.every(({ ended }) => !ended) && clients.length < 60) {
      const client = await Pipeline.connect(site.url);
      client.socket.write(stream);
      client.read();
      await until(() => client.heard.includes("200"), "the stream");
      client.get("/healthz", 1_000);
      expect((await askAll(site.url, { path: "/healthz" })).status).toBe(200);
      clients.push(client);
    }
    expect(clients.length).toBeGreaterThan(limits.waitingRequests.max / 1_100);
    expect(clients.length).toBeLessThan(60);
    expect(await site.metric('tendon_requests_limited_total{by="connection"}')).toBeGreaterThan(0);
  });
});
