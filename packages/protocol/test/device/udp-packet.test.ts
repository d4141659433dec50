import { readUdpHeader, udpHeaderBytes, writeUdpHeader } from "@tendon/protocol";
import { describe, expect, it, test } from "vitest";

const header = { flags: 0x80, connection: 0xfedcba98, timestampMs: 4_000_000_000, sequence: 0xffffffff };

describe("the header of an audio packet over UDP", () => {
  it("[UDP-1] decodes to what was encoded", () => {
    const datagram = new Uint8Array(udpHeaderBytes + 5);
    writeUdpHeader(datagram, header, 5);
    expect(readUdpHeader(datagram)).toEqual(header);
    expect([...datagram.subarray(0, 4)]).toEqual([1, 0x80, 0, 5]);
  });

  it("[UDP-1] is decoded inside a larger buffer", () => {
    const datagram = new Uint8Array(100).subarray(40, 40 + udpHeaderBytes + 9);
    writeUdpHeader(datagram, header, 9);
    expect(readUdpHeader(datagram)).toEqual(header);
  });

  test.each([
    ["nothing", new Uint8Array()],
    ["a header without a packet", new Uint8Array(udpHeaderBytes).fill(1, 0, 1)],
    ["another type", new Uint8Array(udpHeaderBytes + 1)],
    ["another length than it says", Uint8Array.of(1, 0, 0, 9, ...new Uint8Array(20))],
  ])("is not decoded from %s", (_, datagram) => {
    expect(readUdpHeader(datagram)).toBeUndefined();
  });
});
