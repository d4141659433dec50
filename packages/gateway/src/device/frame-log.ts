/**
 * The last frames to and from devices, for diagnosis [CON-6]. All devices share one small ring buffer. A device that
 * a person watches gets a longer buffer of its own for that time.
 */
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

export interface LoggedFrame {
  readonly at: number;
  readonly way: "in" | "out";
  /** The full length; `text` may be truncated. */
  readonly length: number;
  readonly text: string;
  /** The call that the frame belongs to: its request, or the reply to it. */
  callId: string | undefined;
  /** Set if the frame was not understood: the reason. */
  notUnderstood?: string;
}

interface DeviceFrame extends LoggedFrame {
  readonly device: string;
}

interface Watched {
  readonly frames: LoggedFrame[];
  until: number;
}

const watchMs = 60_000;
const maxWatched = 32;

export class FrameLog {
  readonly #clock: Clock;
  readonly #ring: DeviceFrame[] = [];
  #at = 0;
  readonly #watched = new Map<string, Watched>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(device: string, way: "in" | "out", text: string, callId?: string): LoggedFrame {
    const at = this.#clock.now();
    const frame: DeviceFrame = { device, at, way, length: text.length, text: cut(text), callId };
    this.#ring[this.#at] = frame;
    this.#at = (this.#at + 1) % limits.framesKept.max;
    if (this.#watched.size > 0) this.#recordWatched(device, frame);
    return frame;
  }

  /** Oldest first. Watches the device from now on, until it is not requested for a minute. */
  framesOf(device: string): readonly LoggedFrame[] {
    const now = this.#clock.now();
    for (const [id, { until }] of this.#watched) if (until <= now) this.#watched.delete(id);
    const known = this.#watched.get(device);
    const watched = known ?? { frames: this.#inRing(device), until: 0 };
    watched.until = now + watchMs;
    // Moves the device to the end: the least recently requested one is removed first.
    this.#watched.delete(device);
    this.#watched.set(device, watched);
    if (this.#watched.size > maxWatched) {
      const [first] = this.#watched.keys();
      if (first !== undefined) this.#watched.delete(first);
    }
    return watched.frames;
  }

  forget(device: string): void {
    this.#watched.delete(device);
    for (const [at, frame] of this.#ring.entries())
      if (frame.device === device) this.#ring[at] = { ...frame, device: "", length: 0, text: "" };
  }

  #inRing(device: string): LoggedFrame[] {
    const inOrder = [...this.#ring.slice(this.#at), ...this.#ring.slice(0, this.#at)];
    return inOrder.filter((frame) => frame.device === device).slice(-limits.framesWatched.max);
  }

  #recordWatched(device: string, frame: LoggedFrame): void {
    const watched = this.#watched.get(device);
    if (watched === undefined) return;
    watched.frames.push(frame);
    if (watched.frames.length > limits.framesWatched.max) watched.frames.shift();
  }
}

/** A copy, because a slice would keep the whole text in memory. */
function cut(text: string): string {
  const most = limits.frameTextKept.max;
  return text.length <= most ? text : Buffer.from(text.slice(0, most)).toString();
}
