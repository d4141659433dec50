import mqttPacket, { type IPublishPacket } from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { pushPackets } from "../src/broker/push-packets.ts";

describe("a packet pushed to a device", () => {
  it.each([
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 0],
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 87],
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 88],
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 16_344],
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 16_345],
    ["devices/p2p/G@@@02_00_00_00_00_01@@@c", 3_000_000],
    [`devices/p2p/${"é".repeat(200)}`, 3],
  ])("to %s with %i bytes equals the library's packet, in both versions of MQTT", (topic, length) => {
    const payload = length > 4 ? `🦾${"x".repeat(length - 4)}` : "x".repeat(length);
    const packet: IPublishPacket = { cmd: "publish", topic, payload, qos: 0, retain: false, dup: false };
    for (const protocolVersion of [4, 5] as const) {
      const expected = mqttPacket.generate(packet, { protocolVersion });
      expect(pushPackets(topic, protocolVersion)(payload).equals(expected)).toBe(true);
    }
  });
});
