/**
 * One board's audio over UDP [UDP-1…5]: its key, its place in the sequence, and the address its packets come from. The
 * protocol has no signature, so an address is believed only after packets from it have made sense under the session's
 * key, one after the other and in sequence; until then they move nothing. What a stranger sends is dropped unseen.
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

export interface UdpPathNeeds {
  readonly connection: number;
  readonly key: Buffer;
  /** How long each packet of the board plays, as its hello says. */
  readonly frameMs: number | undefined;
  readonly now: () => number;
  readonly send: (datagram: Buffer, peer: UdpPeer, sent: () => void) => void;
  readonly receive: (audio: AudioFrame) => void;
  /** So many packets never came. */
  readonly onLost: (packets: number) => void;
}

/** A sender that is not believed yet, and what it has said so far. */
interface Candidate {
  readonly peer: UdpPeer;
  last: number;
  trust: number;
  readonly held: AudioFrame[];
}

/** Uplink headers are the board's, downlink ones ours: this bit keeps their counter blocks apart under one key. */
const downlinkFlags = 0x80;
/** Four seconds of packets may be lost and the next one still count as the next one. */
const windowPackets = 64;
/** A packet that plays as long as the board's do; anything else that could be Opus counts little, and only at first. */
const strong = 4;
const weak = 1;
const trustToBegin = 4;
const trustToMove = 16;
const strangersPerSecond = 60;
const packetsPerSecond = 200;
const packetBurst = 1_000;

export class UdpPath {
  readonly #needs: UdpPathNeeds;
  readonly #cipher: CounterMode;
  readonly #ownRate: TokenBucket;
  readonly #strangerRate: TokenBucket;
  readonly #waiting: { readonly audio: AudioFrame; readonly sent: () => void }[] = [];
  #peer: UdpPeer | undefined;
  #heard = 0;
  #said = 0;
  #lastTimestamp = 0;
  /** How long the board's packets play: as its hello says, until they show otherwise. */
  #frameMs: number | undefined;
  #candidate: Candidate | undefined;

  constructor(needs: UdpPathNeeds) {
    this.#needs = needs;
    this.#cipher = new CounterMode(needs.key);
    this.#frameMs = needs.frameMs;
    this.#ownRate = new TokenBucket(
      { burst: packetBurst, everyMs: perSecond(packetsPerSecond) },
      needs.now(),
    );
    this.#strangerRate = new TokenBucket(
      { burst: strangersPerSecond, everyMs: perSecond(strangersPerSecond) },
      needs.now(),
    );
  }

  /** Where the board's packets come from, once that is known. */
  get peer(): UdpPeer | undefined {
    return this.#peer;
  }

  received(header: UdpHeader, datagram: Buffer, from: UdpPeer): void {
    if (header.sequence <= this.#heard) return;
    const ahead = header.sequence - this.#heard;
    const known = isSame(from, this.#peer);
    if (!(known ? this.#ownRate : this.#strangerRate).take(this.#needs.now())) return;
    // A packet of its own: the socket's buffer is not ours, and what comes early is held.
    const opus = Buffer.allocUnsafe(datagram.byteLength - udpHeaderBytes);
    this.#cipher.apply(datagram.subarray(0, udpHeaderBytes), datagram.subarray(udpHeaderBytes), opus, 0);
    const audio = { timestampMs: header.timestampMs, opus };
    const worth = this.#worthOf(opus);
    if (known && ahead <= windowPackets) {
      if (worth > 0) this.#accept(header.sequence, audio, worth);
      return;
    }
    this.#consider(header.sequence, audio, worth, from);
  }

  /** False: it is lost. `sent` is called when it has left. */
  send(audio: AudioFrame, sent: () => void): boolean {
    if (audio.opus.byteLength > udpPacketBytes - udpHeaderBytes) return false;
    if (this.#peer === undefined) {
      if (this.#waiting.length >= voiceLimits.heldFrames.max) return false;
      this.#waiting.push({ audio, sent });
      return true;
    }
    this.#seal(audio, this.#peer, sent);
    return true;
  }

  #accept(sequence: number, audio: AudioFrame, worth: number): void {
    // Whoever else was asking to be believed was not the board: it is still where it was.
    if (worth === strong) this.#candidate = undefined;
    if (sequence - this.#heard > 1) this.#needs.onLost(sequence - this.#heard - 1);
    this.#heard = sequence;
    this.#needs.receive(audio);
  }

  /** [UDP-3] Sound packets in a row, from one address, while the old one is silent: then it is the board. */
  #consider(sequence: number, audio: AudioFrame, worth: number, from: UdpPeer): void {
    if (worth === 0 || (worth === weak && this.#peer !== undefined)) {
      if (isSame(from, this.#candidate?.peer)) this.#candidate = undefined;
      return;
    }
    let candidate = this.#candidate;
    if (candidate === undefined || !isSame(from, candidate.peer)) {
      candidate = { peer: from, last: sequence - 1, trust: 0, held: [] };
      this.#candidate = candidate;
    }
    const step = sequence - candidate.last;
    if (step < 1 || step > windowPackets) {
      this.#candidate = undefined;
      return;
    }
    candidate.last = sequence;
    candidate.trust += worth;
    candidate.held.push(audio);
    const begins = this.#peer === undefined && sequence <= windowPackets;
    if (candidate.trust >= (begins ? trustToBegin : trustToMove)) this.#believe(candidate);
  }

  #believe(candidate: Candidate): void {
    this.#candidate = undefined;
    if (this.#peer === undefined) this.#frameMs = opusDurationMs(candidate.held.at(-1)?.opus ?? nothing);
    this.#peer = candidate.peer;
    const missed = candidate.last - this.#heard - candidate.held.length;
    if (missed > 0) this.#needs.onLost(missed);
    this.#heard = candidate.last;
    for (const audio of candidate.held) this.#needs.receive(audio);
    for (const { audio, sent } of this.#waiting.splice(0)) this.#seal(audio, candidate.peer, sent);
  }

  #worthOf(opus: Uint8Array): number {
    const ms = opusDurationMs(opus);
    if (ms === undefined) return 0;
    return ms === this.#frameMs && isMonoOpus(opus) ? strong : weak;
  }

  /**
   * The time stamp always grows: with one that stands still, neighbouring packets would share counter blocks, and
   * whoever listens could subtract one from the other.
   */
  #seal({ timestampMs, opus }: AudioFrame, peer: UdpPeer, sent: () => void): void {
    this.#said += 1;
    this.#lastTimestamp = timestampMs > this.#lastTimestamp ? timestampMs : this.#lastTimestamp + 1;
    const datagram = Buffer.allocUnsafe(udpHeaderBytes + opus.byteLength);
    const header = {
      flags: downlinkFlags,
      connection: this.#needs.connection,
      timestampMs: this.#lastTimestamp,
      sequence: this.#said,
    };
    writeUdpHeader(datagram, header, opus.byteLength);
    this.#cipher.apply(datagram.subarray(0, udpHeaderBytes), opus, datagram, udpHeaderBytes);
    this.#needs.send(datagram, peer, sent);
  }
}

const nothing = new Uint8Array();

function isSame(a: UdpPeer, b: UdpPeer | undefined): boolean {
  return b !== undefined && a.port === b.port && a.address === b.address;
}
