/**
 * The requests that wait for one connection. Housekeeping goes first. Calls of a voice server, and calls that waited for
 * the device, have lanes of their own, which alternate with the other calls; the voice server goes before the latter.
 */
export type CallLane = "voice" | "queued";

export class CallLanes<Request> {
  readonly #isHousekeeping: (request: Request) => boolean;
  readonly #laneOf: (request: Request) => CallLane | undefined;
  /** Housekeeping, and calls without a lane of their own. */
  #live: Request[] = [];
  #voice: Request[] = [];
  #queued: Request[] = [];
  #voiceIsNext = false;
  #queuedIsNext = false;
  #liveIsHeld = false;

  constructor(
    isHousekeeping: (request: Request) => boolean,
    laneOf: (request: Request) => CallLane | undefined,
  ) {
    this.#isHousekeeping = isHousekeeping;
    this.#laneOf = laneOf;
  }

  get size(): number {
    return this.#live.length + this.#voice.length + this.#queued.length;
  }

  waitingIn(lane: CallLane | undefined): number {
    return this.#lane(lane).length;
  }

  add(request: Request): void {
    if (!this.#isHousekeeping(request)) {
      this.#lane(this.#laneOf(request)).push(request);
      return;
    }
    const firstCall = this.#live.findIndex((other) => !this.#isHousekeeping(other));
    this.#live.splice(firstCall === -1 ? this.#live.length : firstCall, 0, request);
  }

  remove(request: Request): void {
    const lane = this.#lane(this.#laneOf(request));
    const at = lane.indexOf(request);
    if (at !== -1) lane.splice(at, 1);
  }

  takeNext(): Request | undefined {
    if (this.#voice.length === 0 && this.#queued.length === 0 && !this.#liveIsHeld) return this.#live.shift();
    const [first] = this.#live;
    if (first !== undefined && this.#isHousekeeping(first)) return this.#live.shift();
    const isLive = first !== undefined && !this.#liveIsHeld;
    if (this.#voice.length > 0 && (!isLive || this.#voiceIsNext)) {
      this.#voiceIsNext = false;
      return this.#voice.shift();
    }
    if (this.#queued.length > 0 && (!isLive || this.#queuedIsNext)) {
      this.#queuedIsNext = false;
      return this.#queued.shift();
    }
    if (!isLive) return undefined;
    this.#voiceIsNext = true;
    this.#queuedIsNext = true;
    return this.#live.shift();
  }

  takeAll(): Request[] {
    const all = [...this.#live, ...this.#voice, ...this.#queued];
    this.#live = [];
    this.#voice = [];
    this.#queued = [];
    return all;
  }

  /** Calls without a lane of their own wait until the returned function is called. It returns whether they waited. */
  holdLive(): () => boolean {
    this.#liveIsHeld = true;
    return () => {
      const wasHeld = this.#liveIsHeld;
      this.#liveIsHeld = false;
      return wasHeld;
    };
  }

  #lane(lane: CallLane | undefined): Request[] {
    if (lane === "voice") return this.#voice;
    return lane === "queued" ? this.#queued : this.#live;
  }
}
