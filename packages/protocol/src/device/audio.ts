/**
 * Binary audio framings 1, 2 and 3 [AUD-1…3]. All numbers are big-endian. The firmware does not check the lengths that it
 * receives, so sent lengths are exact. A received frame with a wrong length is invalid.
 */
import { type Decoded, invalid, ok } from "../outcome.ts";

export type AudioFraming = 1 | 2 | 3;

export interface AudioFrame {
  readonly timestampMs: number;
  readonly opus: Uint8Array;
}

const HEADER_2 = 16;
const HEADER_3 = 4;
const TYPE_OPUS = 0;

/** The framing for the device's Protocol-Version. Any other value means framing 1, as in the firmware. */
export function audioFramingOf(version: unknown): AudioFraming {
  const number = typeof version === "string" ? Number(version) : version;
  return number === 2 || number === 3 ? number : 1;
}

export function decodeAudio(framing: AudioFraming, frame: Uint8Array): Decoded<AudioFrame> {
  switch (framing) {
    case 1:
      return ok({ timestampMs: 0, opus: frame });
    case 2:
      return decode2(frame);
    case 3:
      return decode3(frame);
  }
}

function decode2(frame: Uint8Array): Decoded<AudioFrame> {
  if (frame.byteLength < HEADER_2)
    return invalid(`framing 2 needs ${HEADER_2} bytes, got ${frame.byteLength}`);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const version = view.getUint16(0);
  if (version !== 2) return invalid(`framing 2 says version ${version}`);
  const type = view.getUint16(2);
  if (type !== TYPE_OPUS) return invalid(`framing 2 says type ${type}, only audio is known`);
  const size = view.getUint32(12);
  if (size !== frame.byteLength - HEADER_2) return invalid(lengthMismatch(size, frame.byteLength - HEADER_2));
  return ok({ timestampMs: view.getUint32(8), opus: frame.subarray(HEADER_2) });
}

function decode3(frame: Uint8Array): Decoded<AudioFrame> {
  if (frame.byteLength < HEADER_3)
    return invalid(`framing 3 needs ${HEADER_3} bytes, got ${frame.byteLength}`);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const type = view.getUint8(0);
  if (type !== TYPE_OPUS) return invalid(`framing 3 says type ${type}, only audio is known`);
  const size = view.getUint16(2);
  if (size !== frame.byteLength - HEADER_3) return invalid(lengthMismatch(size, frame.byteLength - HEADER_3));
  return ok({ timestampMs: 0, opus: frame.subarray(HEADER_3) });
}

function lengthMismatch(said: number, got: number): string {
  return `the header says ${said} bytes of audio, ${got} came`;
}

export function encodeAudio(framing: AudioFraming, audio: AudioFrame): Decoded<Uint8Array> {
  const size = audio.opus.byteLength;
  switch (framing) {
    case 1:
      return ok(audio.opus);
    case 2: {
      const frame = new Uint8Array(HEADER_2 + size);
      const view = new DataView(frame.buffer);
      view.setUint16(0, 2);
      view.setUint16(2, TYPE_OPUS);
      view.setUint32(8, audio.timestampMs);
      view.setUint32(12, size);
      frame.set(audio.opus, HEADER_2);
      return ok(frame);
    }
    case 3: {
      if (size > 0xffff) return invalid(`framing 3 carries at most 65535 bytes, got ${size}`);
      const frame = new Uint8Array(HEADER_3 + size);
      new DataView(frame.buffer).setUint16(2, size);
      frame.set(audio.opus, HEADER_3);
      return ok(frame);
    }
  }
}
