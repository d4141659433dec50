/**
 * Checks the structure of an Opus packet (RFC 6716, 3): its number of frames, and whether its length is possible. Nothing
 * is decoded. The UDP audio of boards does not prove its sender; bytes that were not encrypted with
 * the session's key rarely make a packet of the right duration, and almost never several in a row.
 */
const longestFrame = 1275;
const longestMs = 120;

function frameMs(config: number): number {
  if (config < 12) return [10, 20, 40, 60][config % 4] ?? 0;
  if (config < 16) return config % 2 === 0 ? 10 : 20;
  return [2.5, 5, 10, 20][config % 4] ?? 0;
}

/** The packet's duration; `undefined` for bytes that are not an Opus packet. */
export function opusDurationMs(packet: Uint8Array): number | undefined {
  const toc = packet[0];
  if (toc === undefined) return undefined;
  const frames = frameCount(toc & 3, packet);
  if (frames === undefined) return undefined;
  const ms = frames * frameMs(toc >> 3);
  return ms <= longestMs ? ms : undefined;
}

export function isMonoOpus(packet: Uint8Array): boolean {
  return ((packet[0] ?? 0) & 4) === 0;
}

function frameCount(code: number, packet: Uint8Array): number | undefined {
  const size = packet.byteLength;
  switch (code) {
    case 0:
      return size - 1 <= longestFrame ? 1 : undefined;
    case 1:
      return (size - 1) % 2 === 0 && (size - 1) / 2 <= longestFrame ? 2 : undefined;
    case 2: {
      const first = readLength(packet, 1);
      if (first === undefined || first.end + first.value > size) return undefined;
      return size - first.end - first.value <= longestFrame ? 2 : undefined;
    }
    default:
      return manyFrames(packet);
  }
}

function manyFrames(packet: Uint8Array): number | undefined {
  const header = packet[1];
  if (header === undefined) return undefined;
  const count = header & 63;
  if (count === 0) return undefined;
  let at = 2;
  let end = packet.byteLength;
  if ((header & 64) !== 0) {
    const padding = readPadding(packet, at);
    if (padding === undefined) return undefined;
    at = padding.end;
    end -= padding.value;
  }
  if ((header & 128) === 0) {
    const each = (end - at) / count;
    return each >= 0 && Number.isInteger(each) && each <= longestFrame ? count : undefined;
  }
  let said = 0;
  for (let frame = 1; frame < count; frame += 1) {
    const length = readLength(packet, at);
    if (length === undefined) return undefined;
    at = length.end;
    said += length.value;
  }
  const last = end - at - said;
  return last >= 0 && last <= longestFrame ? count : undefined;
}

interface Read {
  readonly value: number;
  readonly end: number;
}

function readLength(packet: Uint8Array, at: number): Read | undefined {
  const first = packet[at];
  if (first === undefined) return undefined;
  if (first < 252) return { value: first, end: at + 1 };
  const second = packet[at + 1];
  return second === undefined ? undefined : { value: first + 4 * second, end: at + 2 };
}

function readPadding(packet: Uint8Array, from: number): Read | undefined {
  let value = 0;
  for (let at = from; at < packet.byteLength; at += 1) {
    const byte = packet[at] ?? 0;
    if (byte < 255) return { value: value + byte, end: at + 1 };
    value += 254;
  }
  return undefined;
}
