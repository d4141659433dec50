import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { VirtualDevice } from "../src/index.ts";
import { type BrokerConnection, ScriptedBroker } from "./scripted-broker.ts";
import { addDummies, recordedBoard, scriptedHttp } from "./transcript-board.ts";
import { asRecorded, wireCases } from "./wire-cases.ts";

const cases = wireCases("mqtt");

let broker: ScriptedBroker;
let udp: Socket;
let device: VirtualDevice;
let clock: ManualClock;
let reboots: string[];

beforeEach(async () => {
  broker = await ScriptedBroker.start();
  udp = createSocket("udp4");
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  clock = new ManualClock();
  reboots = [];
  device = new VirtualDevice({
    board: recordedBoard,
    http: scriptedHttp,
    clock,
    mqtt: broker.settings,
    timing: { rebootDelayMs: 0 },
    autoReconnect: false,
  });
  addDummies(device, new Map());
  device.on("reboot", ({ cause }) => reboots.push(cause));
});

afterEach(async () => {
  await device.stop();
  udp.close();
  await broker.stop();
  expect(broker.everyone.flatMap(({ subscriptions }) => subscriptions)).toEqual([]);
});

/** The recording contains the port of its UDP server. */
function asSent(text: string): string {
  return text.replace('"port":18003', `"port":${udp.address().port}`);
}

/** Long texts are truncated in the recording: `start…(N bytes)`. */
function cutLike(recorded: string, text: string): string {
  const cut = /^(.*)…\(\d+ bytes\)$/s.exec(recorded);
  return cut === null ? text : `${text.slice(0, cut[1]?.length)}…(${Buffer.byteLength(text)} bytes)`;
}

async function followNote(connection: BrokerConnection, note: string): Promise<void> {
  if (note === "mqtt client disconnected") expect(await connection.closed).toBe("disconnect");
  else expect(note).toMatch(/^answer to id 1 after about (?:10|7) s$/);
}

describe("replay of the firmware through a broker", () => {
  it("has every MQTT case of the recording", () => {
    expect(cases).toHaveLength(10);
  });

  for (const entry of cases) {
    it(entry.case, async () => {
      await device.connect();
      const connection = await broker.connections.take();
      expect(connection.texts.waiting).toEqual([]);
      const wakes = entry.events[0]?.from === "device";
      if (wakes) device.openAudio().catch(() => undefined);
      for (const [index, event] of entry.events.entries()) {
        if (event.note !== undefined) {
          await followNote(connection, event.note);
        } else if (event.from === "backend") {
          connection.send(asSent(event.text ?? ""));
        } else {
          if (entry.events[index + 1]?.note?.includes("after about 10 s") === true) {
            await connection.quiet();
            expect(connection.texts.waiting).toEqual([]);
            clock.advance(10_000);
          }
          const recorded = event.text ?? "";
          expect(cutLike(recorded, asRecorded(await connection.texts.take()))).toBe(recorded);
        }
      }
      expect(reboots.length > 0).toBe(entry.exit !== "still running");
      if (entry.exit === "still running") await connection.quiet();
      expect(connection.texts.waiting).toEqual([]);
      expect(new Set(connection.topics)).toEqual(new Set(["device-server"]));
    });
  }
});
