/**
 * The header of an audio packet over UDP [UDP-1]: 16 bytes with big-endian numbers. It is also the first counter block of
 * the packet's AES-128-CTR. A board derives its headers from the nonce of the hello.
 */
export const udpHeaderBytes = 16;
const udpAudioType = 1;
/** The firmware's receive buffer, which truncates longer packets. */
export const udpPacketBytes = 1_500;

export interface UdpHeader {
  readonly flags: number;
  readonly connection: number;
  readonly timestampMs: number;
  readonly sequence: number;
}

/** `undefined` for a datagram that is not an audio packet or has a wrong length. */
export function readUdpHeader(datagram: Uint8Array): UdpHeader | undefined {
  const size = datagram.byteLength;
  if (size <= udpHeaderBytes || datagram[0] !== udpAudioType) return undefined;
  const view = new DataView(datagram.buffer, datagram.byteOffset, size);
  if (view.getUint16(2) !== size - udpHeaderBytes) return undefined;
  return {
    flags: view.getUint8(1),
    connection: view.getUint32(4),
    timestampMs: view.getUint32(8),
    sequence: view.getUint32(12),
  };
}

export function writeUdpHeader(into: Uint8Array, header: UdpHeader, payloadBytes: number): void {
  const view = new DataView(into.buffer, into.byteOffset, udpHeaderBytes);
  view.setUint8(0, udpAudioType);
  view.setUint8(1, header.flags);
  view.setUint16(2, payloadBytes);
  view.setUint32(4, header.connection);
  view.setUint32(8, header.timestampMs >>> 0);
  view.setUint32(12, header.sequence >>> 0);
}
