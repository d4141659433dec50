/**
 * The last frames to and from devices, for whoever has to find out what went wrong [CON-6]. One small ring for all of
 * them costs next to nothing; a device that somebody looks at gets a longer one of its own, for as long as they look.
 */
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

export interface KeptFrame {
  readonly at: number;
  readonly way: "in" | "out";
  /** How long it was; the text may have been cut. */
  readonly length: number;
  readonly text: string;
}

interface Watched {
  readonly frames: KeptFrame[];
  until: number;
}

const watchMs = 60_000;
const mostWatched = 32;

export class FrameLog {
  readonly #clock: Clock;
  readonly #ring: (KeptFrame & { readonly device: string })[] = [];
  #at = 0;
  readonly #watched = new Map<string, Watched>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(device: string, way: "in" | "out", text: string): void {
    const frame = { device, at: this.#clock.now(), way, length: text.length, text: cut(text) };
    this.#ring[this.#at] = frame;
    this.#at = (this.#at + 1) % limits.framesKept.max;
    if (this.#watched.size > 0) this.#noteWatched(device, frame);
  }

  /** The oldest first. From now on more of this device is kept, until nobody asks for a minute. */
  of(device: string): readonly KeptFrame[] {
    const now = this.#clock.now();
    for (const [id, { until }] of this.#watched) if (until <= now) this.#watched.delete(id);
    const known = this.#watched.get(device);
    const watched = known ?? { frames: this.#inRing(device), until: 0 };
    watched.until = now + watchMs;
    // Whoever was asked for last is kept longest.
    this.#watched.delete(device);
    this.#watched.set(device, watched);
    if (this.#watched.size > mostWatched) {
      const [first] = this.#watched.keys();
      if (first !== undefined) this.#watched.delete(first);
    }
    return watched.frames;
  }

  #inRing(device: string): KeptFrame[] {
    const inOrder = [...this.#ring.slice(this.#at), ...this.#ring.slice(0, this.#at)];
    return inOrder.filter((frame) => frame.device === device).slice(-limits.framesWatched.max);
  }

  #noteWatched(device: string, frame: KeptFrame): void {
    const watched = this.#watched.get(device);
    if (watched === undefined) return;
    watched.frames.push(frame);
    if (watched.frames.length > limits.framesWatched.max) watched.frames.shift();
  }
}

/** A copy, because a part of a long text would keep all of it in memory. */
function cut(text: string): string {
  const most = limits.frameTextKept.max;
  return text.length <= most ? text : Buffer.from(text.slice(0, most)).toString();
}
