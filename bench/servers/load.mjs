// The callers, in a process of their own: each sends its next request when the last one was answered.
import net from "node:net";
import { clientFrame, readFrames } from "../devices/frames.mjs";
import { percentile } from "../harness/statistics.mjs";
import { HttpConnection } from "../http-connection.mjs";
import { takeOrders } from "./orders.mjs";

/** Sets of requests by name. They are sent here once, because some have thousands. */
const prepared = new Map();

/** The share of calls that the server may refuse; beyond it the figures mean something else. */
const mostRefused = 0.05;
const refusedMs = 20;
const textFrame = 1;

/** Runs `work` again and again with each of the connections for so long. It resolves with false if it was refused. */
async function repeat(connections, seconds, work) {
  const latencies = [];
  let refused = 0;
  const bytesBefore = connections.reduce((all, { bytes }) => all + bytes, 0);
  const started = performance.now();
  const until = started + seconds * 1000;
  const worker = async (connection, index) => {
    let turn = 0;
    let from = performance.now();
    while (from < until) {
      const isDone = await work(connection, index, turn);
      const now = performance.now();
      if (isDone) latencies.push(now - from);
      else refused += 1;
      from = now;
      turn += 1;
    }
  };
  await Promise.all(connections.map(worker));
  const elapsed = (performance.now() - started) / 1000;
  const bytes = connections.reduce((all, each) => all + each.bytes, 0) - bytesBefore;
  const count = latencies.length;
  if (refused > count * mostRefused) throw new Error(`${refused} of ${count + refused} calls were refused`);
  return {
    count,
    refused,
    perSecond: count / elapsed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    bytesEach: bytes / count,
  };
}

/** Kept between the slices, as callers keep them. A server closes those that were idle for too long. */
const kept = new Map();

async function connectionsFor(key, count, open) {
  const list = (kept.get(key) ?? []).filter(({ isOpen }) => isOpen);
  kept.set(key, list);
  while (list.length < count) list.push(await open());
  return list.slice(0, count);
}

async function call({ name, parallel, seconds }) {
  const { port, requests, expected } = prepared.get(name);
  const connections = await connectionsFor(`${name} ${port}`, parallel, () => HttpConnection.open(port));
  return await repeat(connections, seconds, async (connection, index, turn) => {
    const { status, body } = await connection.send(requests[(index + turn * parallel) % requests.length]);
    if (status === 200 && body.includes(expected)) return true;
    // A machine that other processes keep busy makes the gateway shed load. A refused call must not count as a fast one.
    if (status !== 503) throw new Error(`status ${status}: ${body.slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, refusedMs));
    return false;
  });
}

/** A WebSocket whose next message answers the last one. */
function openEcho(url) {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  socket.setNoDelay(true);
  let rest = Buffer.alloc(0);
  let heard;
  const echo = {
    send: (frame) =>
      new Promise((resolve) => {
        heard = resolve;
        socket.write(frame);
      }),
    get isOpen() {
      return !socket.destroyed;
    },
    get bytes() {
      return socket.bytesRead + socket.bytesWritten;
    },
  };
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", () => {
      socket.on("data", (chunk) => {
        rest = readFrames(Buffer.concat([rest, chunk]), (opcode, body) => {
          if (opcode === textFrame) heard?.(body);
        });
      });
      resolve(echo);
    });
    socket.write(
      `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    );
  });
}

async function echo({ url, text, parallel, seconds }) {
  const frame = clientFrame(1, text);
  const connections = await connectionsFor(url, parallel, () => openEcho(url));
  return await repeat(connections, seconds, async (connection) => {
    await connection.send(frame);
    return true;
  });
}

/** Calls of voice servers over an MCP endpoint, each on a connection of its own. */
async function frames({ url, opening, texts, expected, parallel, seconds }) {
  const connections = await connectionsFor(url, parallel, async () => {
    const connection = await openEcho(url);
    await connection.send(clientFrame(textFrame, opening));
    return connection;
  });
  const calls = texts.map((text) => clientFrame(textFrame, text));
  return await repeat(connections, seconds, async (connection, index) => {
    const answer = await connection.send(calls[index % calls.length]);
    if (answer.includes(expected)) return true;
    if (!answer.includes("busy: ")) throw new Error(answer.toString().slice(0, 300));
    await new Promise((resolve) => setTimeout(resolve, refusedMs));
    return false;
  });
}

const orders = {
  async prepare({ name, ...requests }) {
    prepared.set(name, requests);
    return {};
  },
  call,
  echo,
  frames,
  /** Opens event streams and reads them; `count: 0` closes them. */
  async streams({ port, request, count }) {
    const list = kept.get("streams") ?? [];
    kept.set("streams", list);
    while (list.length > count) list.pop().destroy();
    while (list.length < count) {
      const socket = net.connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(request);
      const [head] = await new Promise((resolve) =>
        socket.once("data", (chunk) => resolve([chunk.toString()])),
      );
      if (!head.startsWith("HTTP/1.1 200")) throw new Error(head);
      socket.resume();
      list.push(socket);
    }
    return {};
  },
};

takeOrders(orders);
