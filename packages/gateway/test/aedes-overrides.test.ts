/** Checks the assumptions of aedes-overrides.ts: a version of aedes that reads bytes differently fails here. */
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Aedes } from "aedes";
import mqttPacket from "mqtt-packet";
import { describe, expect, it, onTestFinished } from "vitest";
import { Inbox } from "../../../test/inbox.ts";
import { endSessionsAtOnce, gateReads } from "../src/broker/aedes-overrides.ts";
import { NoStorage } from "../src/broker/no-storage.ts";

const connectPacket = {
  cmd: "connect",
  protocolId: "MQTT",
  protocolVersion: 4,
  clean: true,
  clientId: "one",
  keepalive: 0,
} as const;
const connect = mqttPacket.generate(connectPacket);
const publish = mqttPacket.generate({
  cmd: "publish",
  topic: "a",
  payload: "some text",
  qos: 0,
  retain: false,
  dup: false,
});

/** A broker with one client, whose bytes pass a gate that admits a given number. */
async function openBroker(admitted: number, begin = (read: () => void) => read()) {
  const connects = new Inbox<string>("CONNECT");
  const published = new Inbox<string>("message");
  const broker = await Aedes.createBroker({
    preConnect(_client, { clientId }, done) {
      connects.put(clientId);
      done(null, true);
    },
    published(packet, _client, done) {
      if (!packet.topic.startsWith("$SYS")) published.put(packet.payload.toString());
      done(null);
    },
  });
  onTestFinished(() => new Promise<void>((resolve) => broker.close(resolve)));
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  let seen = 0;
  const gate = gateReads(stream, {
    begin,
    rejects: (chunk) => {
      seen += chunk.byteLength;
      return seen > admitted;
    },
  });
  broker.handle(stream);
  return { stream, gate, connects, published, seen: () => seen };
}

describe("the bytes of a connection", () => {
  it("all pass the gate, each once, before aedes parses them", async () => {
    const { stream, published, seen } = await openBroker(Number.POSITIVE_INFINITY);
    const all = Buffer.concat([connect, publish, publish]);
    // In pieces that end within packets.
    for (let at = 0; at < all.length; at += 7) stream.push(all.subarray(at, at + 7));
    expect([await published.take(), await published.take()]).toEqual(["some text", "some text"]);
    expect(seen()).toBe(all.length);
  });

  it("wait until the connection may begin, and while the gate holds them", async () => {
    const waiting: (() => void)[] = [];
    const { stream, gate, connects, published, seen } = await openBroker(Number.POSITIVE_INFINITY, (read) =>
      waiting.push(read),
    );
    stream.push(connect);
    await nextTurn();
    expect([seen(), waiting.length]).toEqual([0, 1]);
    waiting[0]?.();
    expect(await connects.take()).toBe("one");
    gate.hold();
    stream.push(publish);
    await nextTurn();
    expect(seen()).toBe(connect.length);
    gate.release();
    expect(await published.take()).toBe("some text");
  });

  it("are not parsed once the gate rejects them, and the connection is closed", async () => {
    const { stream, connects } = await openBroker(0);
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.push(connect);
    await closed;
    expect(connects.waiting).toEqual([]);
  });

  it("are rejected after CONNECT too", async () => {
    const { stream, connects, published } = await openBroker(connect.length);
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.push(connect);
    expect(await connects.take()).toBe("one");
    stream.push(publish);
    await closed;
    expect(published.waiting).toEqual([]);
  });
});

describe("the end of a connection of MQTT 5", () => {
  async function storedMessagesAsked(prepare: (aedes: Aedes) => void): Promise<number> {
    let asked = 0;
    class CountingStorage extends NoStorage {
      override outgoingStream(): Iterable<never> {
        asked += 1;
        return super.outgoingStream();
      }
    }
    const broker = await Aedes.createBroker({ persistence: new CountingStorage() });
    onTestFinished(() => new Promise<void>((resolve) => broker.close(resolve)));
    prepare(broker);
    const ready = new Promise((resolve) => broker.once("clientReady", resolve));
    const gone = new Promise((resolve) => broker.once("clientDisconnect", resolve));
    const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    broker.handle(stream);
    stream.push(mqttPacket.generate({ ...connectPacket, protocolVersion: 5 }, { protocolVersion: 5 }));
    await ready;
    stream.destroy();
    await gone;
    await nextTurn();
    return asked;
  }

  it("asks the storage for what is left of the session, unless sessions end at once", async () => {
    expect(await storedMessagesAsked(() => undefined)).toBe(2);
    expect(await storedMessagesAsked(endSessionsAtOnce)).toBe(1);
  });
});
