/**
 * One board's audio over UDP [UDP-1…5]: its key, sequence numbers and address. The protocol has no signatures, so an
 * address is trusted only after several packets from it decrypt to valid audio, in sequence. Until then the session
 * does not change, and packets of other senders are dropped.
 */
import {
  type AudioFrame,
  isMonoOpus,
  opusDurationMs,
  type UdpHeader,
  udpHeaderBytes,
  udpPacketBytes,
  voiceLimits,
  writeUdpHeader,
} from "@tendon/protocol";
import { perSecond, TokenBucket } from "../token-bucket.ts";
import { CounterMode } from "./counter-mode.ts";

export interface UdpPeer {
  readonly address: string;
  readonly port: number;
}

export interface UdpSessionDependencies {
  readonly connection: number;
  readonly key: Buffer;
  /** The duration of each packet, from the board's hello. */
  readonly frameMs: number | undefined;
  readonly now: () => number;
  readonly send: (datagram: Buffer, peer: UdpPeer, sent: () => void) => void;
  readonly receive: (audio: AudioFrame) => void;
  /** Called with the number of lost packets. */
  readonly onLost: (packets: number) => void;
}

/** A sender that is not trusted yet, with its frames so far. */
interface Candidate {
  readonly peer: UdpPeer;
  last: number;
  trust: number;
  readonly frames: AudioFrame[];
}

/** Both directions share one key. This bit keeps their counter blocks different. */
const downlinkFlags = 0x80;
/** Tolerates about four seconds of lost packets. */
const windowPackets = 64;
/** Strong: mono Opus with the expected duration. Weak: other valid Opus, which counts only for a new session. */
const strong = 4;
const weak = 1;
const trustToStart = 4;
const trustToMove = 16;
const unknownPerSecond = 60;
const packetsPerSecond = 200;
const packetBurst = 1_000;

export class UdpSession {
  readonly #dependencies: UdpSessionDependencies;
  readonly #cipher: CounterMode;
  readonly #ownRate: TokenBucket;
  readonly #unknownRate: TokenBucket;
  readonly #unsent: { readonly audio: AudioFrame; readonly sent: () => void }[] = [];
  #peer: UdpPeer | undefined;
  #lastReceived = 0;
  #lastSent = 0;
  #lastTimestamp = 0;
  /** The duration of the board's packets: from its hello, then from the first trusted packet. */
  #frameMs: number | undefined;
  #candidate: Candidate | undefined;

  constructor(dependencies: UdpSessionDependencies) {
    this.#dependencies = dependencies;
    this.#cipher = new CounterMode(dependencies.key);
    this.#frameMs = dependencies.frameMs;
    this.#ownRate = new TokenBucket(
      { burst: packetBurst, everyMs: perSecond(packetsPerSecond) },
      dependencies.now(),
    );
    this.#unknownRate = new TokenBucket(
      { burst: unknownPerSecond, everyMs: perSecond(unknownPerSecond) },
      dependencies.now(),
    );
  }

  /** The board's address, once it is trusted. */
  get peer(): UdpPeer | undefined {
    return this.#peer;
  }

  received(header: UdpHeader, datagram: Buffer, from: UdpPeer): void {
    if (header.sequence <= this.#lastReceived) return;
    const ahead = header.sequence - this.#lastReceived;
    const known = isSame(from, this.#peer);
    if (!(known ? this.#ownRate : this.#unknownRate).take(this.#dependencies.now())) return;
    // A copy, because the socket reuses its buffer and frames may be kept.
    const opus = Buffer.allocUnsafe(datagram.byteLength - udpHeaderBytes);
    this.#cipher.apply(datagram.subarray(0, udpHeaderBytes), datagram.subarray(udpHeaderBytes), opus, 0);
    const audio = { timestampMs: header.timestampMs, opus };
    const score = this.#scoreOf(opus);
    if (known && ahead <= windowPackets) {
      if (score > 0) this.#accept(header.sequence, audio, score);
      return;
    }
    this.#evaluate(header.sequence, audio, score, from);
  }

  /** Returns false if the frame was dropped. `sent` is called when it was written. */
  send(audio: AudioFrame, sent: () => void): boolean {
    if (audio.opus.byteLength > udpPacketBytes - udpHeaderBytes) return false;
    if (this.#peer === undefined) {
      if (this.#unsent.length >= voiceLimits.heldFrames.max) return false;
      this.#unsent.push({ audio, sent });
      return true;
    }
    this.#encryptAndSend(audio, this.#peer, sent);
    return true;
  }

  #accept(sequence: number, audio: AudioFrame, score: number): void {
    // The board still sends from the trusted address, so the candidate is not the board.
    if (score === strong) this.#candidate = undefined;
    if (sequence - this.#lastReceived > 1) this.#dependencies.onLost(sequence - this.#lastReceived - 1);
    this.#lastReceived = sequence;
    this.#dependencies.receive(audio);
  }

  /** [UDP-3] Trusts an address after enough valid packets in sequence while the old address is silent. */
  #evaluate(sequence: number, audio: AudioFrame, score: number, from: UdpPeer): void {
    if (score === 0 || (score === weak && this.#peer !== undefined)) {
      if (isSame(from, this.#candidate?.peer)) this.#candidate = undefined;
      return;
    }
    let candidate = this.#candidate;
    if (candidate === undefined || !isSame(from, candidate.peer)) {
      candidate = { peer: from, last: sequence - 1, trust: 0, frames: [] };
      this.#candidate = candidate;
    }
    const step = sequence - candidate.last;
    if (step < 1 || step > windowPackets) {
      this.#candidate = undefined;
      return;
    }
    candidate.last = sequence;
    candidate.trust += score;
    candidate.frames.push(audio);
    const starts = this.#peer === undefined && sequence <= windowPackets;
    if (candidate.trust >= (starts ? trustToStart : trustToMove)) this.#adopt(candidate);
  }

  #adopt(candidate: Candidate): void {
    this.#candidate = undefined;
    if (this.#peer === undefined) this.#frameMs = opusDurationMs(candidate.frames.at(-1)?.opus ?? empty);
    this.#peer = candidate.peer;
    const missed = candidate.last - this.#lastReceived - candidate.frames.length;
    if (missed > 0) this.#dependencies.onLost(missed);
    this.#lastReceived = candidate.last;
    for (const audio of candidate.frames) this.#dependencies.receive(audio);
    for (const { audio, sent } of this.#unsent.splice(0)) this.#encryptAndSend(audio, candidate.peer, sent);
  }

  #scoreOf(opus: Uint8Array): number {
    const ms = opusDurationMs(opus);
    if (ms === undefined) return 0;
    return ms === this.#frameMs && isMonoOpus(opus) ? strong : weak;
  }

  /**
   * The timestamp always increases. With equal timestamps, packets would share counter blocks, and an eavesdropper
   * could combine two of them.
   */
  #encryptAndSend({ timestampMs, opus }: AudioFrame, peer: UdpPeer, sent: () => void): void {
    this.#lastSent += 1;
    this.#lastTimestamp = timestampMs > this.#lastTimestamp ? timestampMs : this.#lastTimestamp + 1;
    const datagram = Buffer.allocUnsafe(udpHeaderBytes + opus.byteLength);
    const header = {
      flags: downlinkFlags,
      connection: this.#dependencies.connection,
      timestampMs: this.#lastTimestamp,
      sequence: this.#lastSent,
    };
    writeUdpHeader(datagram, header, opus.byteLength);
    this.#cipher.apply(datagram.subarray(0, udpHeaderBytes), opus, datagram, udpHeaderBytes);
    this.#dependencies.send(datagram, peer, sent);
  }
}

const empty = new Uint8Array();

function isSame(a: UdpPeer, b: UdpPeer | undefined): boolean {
  return b !== undefined && a.port === b.port && a.address === b.address;
}
