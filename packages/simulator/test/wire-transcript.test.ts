import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { VirtualDevice as Device, type VirtualDevice, webSocketTransport } from "../src/index.ts";
import { ScriptedServer, type ServerConnection } from "./scripted-server.ts";
import { addDummies, recordedBoard, scriptedHttp } from "./transcript-board.ts";
import { asRecorded, wireCases } from "./wire-cases.ts";

const cases = wireCases("ws");

let server: ScriptedServer;
let device: VirtualDevice;
let clock: ManualClock;
let reboots: string[];
let toggled: boolean;

beforeEach(async () => {
  server = await ScriptedServer.start();
  clock = new ManualClock();
  reboots = [];
  toggled = false;
});

afterEach(async () => {
  await device.stop();
  await server.stop();
});

function start(version: 1 | 3): void {
  device = new Device({
    board: recordedBoard,
    http: scriptedHttp,
    clock,
    transport: webSocketTransport({ url: server.url, version }),
    timing: { rebootDelayMs: 0 },
    autoReconnect: false,
  });
  addDummies(device, new Map());
  device.on("reboot", ({ cause }) => reboots.push(cause));
}

/** Some recordings end before the server's hello. */
function connect(): void {
  device.connect().catch(() => undefined);
}

/** Long texts are truncated in the recording: `start…(N bytes)`. */
function completed(text: string): string {
  const cut = /^(.*?)y*…\((\d+) bytes\)$/s.exec(text);
  if (cut === null) return text;
  const tail = '"}}}}';
  const head = cut[1] ?? "";
  return head + "y".repeat(Number(cut[2]) - head.length - tail.length) + tail;
}

async function backendSays(connection: ServerConnection, text: string): Promise<void> {
  const binary = / \(binary frame\)$/.exec(text);
  if (binary === null) connection.send(completed(text));
  else connection.socket.send(Buffer.from(text.slice(0, binary.index)));
  await Promise.resolve();
}

async function followNote(connection: ServerConnection, note: string): Promise<ServerConnection> {
  if (note.startsWith("connection closed")) {
    expect(await connection.closed).toBe(1006);
    if (toggled) {
      connect();
      return await server.connections.take();
    }
  } else if (note.startsWith("waited 2 s")) {
    await connection.quiet();
    clock.advance(2_000);
    expect(connection.texts.waiting).toEqual([]);
  } else if (note.startsWith("sent id 1 in two fragments")) {
    const text = '{"session_id":"s","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"initialize"}}';
    connection.socket.send(text.slice(0, 40), { fin: false });
    connection.socket.ping("hi");
    connection.socket.send(text.slice(40), { fin: true });
  } else if (note.startsWith("no answer to id 1")) {
    expect(connection.texts.waiting).toEqual([]);
  } else if (note.startsWith("connections seen")) {
    expect(note).toBe(`connections seen: ${server.seen}`);
  } else if (note.startsWith("button pressed again")) {
    device.disconnect();
    toggled = true;
  } else {
    expect(note).toMatch(/^answer to id 1 after about 10 s$/);
  }
  return connection;
}

function answersTo(connectionTexts: readonly string[], parity: 0 | 1): number[] {
  return connectionTexts
    .map((text) => (JSON.parse(text) as { payload: { id: number } }).payload.id)
    .filter((id) => id % 2 === parity);
}

describe("replay of the firmware on the wire", () => {
  it("has every WebSocket case of the recording", () => {
    start(1);
    expect(cases).toHaveLength(21);
  });

  for (const entry of cases.filter((candidate) => candidate.case !== "ws-burst-of-20")) {
    it(entry.case, async () => {
      start(entry.case.includes("version-3") ? 3 : 1);
      connect();
      let connection = await server.connections.take();
      for (const [index, event] of entry.events.entries()) {
        if (event.note !== undefined) {
          if (event.note.startsWith("no answer")) await device.waitFor("frame-lost");
          connection = await followNote(connection, event.note);
        } else if (event.from === "backend") {
          await backendSays(connection, event.text ?? "");
        } else if (event.text === "(pong hi)") {
          expect(await connection.pongs.take()).toBe("hi");
        } else {
          if (entry.events[index + 1]?.note?.includes("after about 10 s") === true) {
            await connection.quiet();
            expect(connection.texts.waiting).toEqual([]);
            clock.advance(10_000);
          }
          expect(asRecorded(await connection.texts.take())).toBe(event.text);
        }
      }
      expect(reboots.length > 0).toBe(entry.exit !== "still running");
      expect(connection.texts.waiting).toEqual([]);
    });
  }

  // The order inside a burst may differ between runs, as the recording states: calls keep their order among
  // themselves, and so do the immediate answers.
  it("ws-burst-of-20", async () => {
    const entry = cases.find((candidate) => candidate.case === "ws-burst-of-20");
    const texts = (from: string): string[] =>
      (entry?.events ?? []).filter((event) => event.from === from).map((event) => event.text ?? "");
    start(1);
    connect();
    const connection = await server.connections.take();
    const [hello = "", ...requests] = texts("backend");
    expect(await connection.texts.take()).toBe(texts("device")[0]);
    connection.send(hello);
    expect(await connection.texts.take()).toBe(texts("device")[1]);
    for (const request of requests) connection.send(request);
    const replies: string[] = [];
    while (replies.length < 20) replies.push(await connection.texts.take());
    const recorded = texts("device").slice(2);
    expect([...replies].sort()).toEqual([...recorded].sort());
    expect(answersTo(replies, 0)).toEqual(answersTo(recorded, 0));
    expect(answersTo(replies, 1)).toEqual(answersTo(recorded, 1));
  });
});
