/**
 * The nodes of the cluster. Each sends a heartbeat every few seconds. A node without heartbeats counts as dead until the
 * next one arrives. An instance is one run of one process: a restarted node is a new instance.
 */
import type { Clock, Timer } from "../clock.ts";
import { ClockDifferences, type NodeTimes } from "./clock-differences.ts";
import type { NatsLink } from "./nats-link.ts";

export interface Member {
  readonly instance: string;
  /** The machine's name, for people. */
  readonly node: string;
  readonly version: string;
  readonly startedAt: number;
  readonly devices: number;
  /** Boards that it is sending to other nodes to even them out; missing in nodes of 0.2 and older. */
  readonly moving?: number | undefined;
  readonly draining: boolean;
}

const beatEveryMs = 2_000;
const checkEveryMs = 500;
/** Five heartbeats: a busy node is not dead, and devices of a dead node show offline within 15 s. */
const deadAfterMs = 10_000;
/**
 * This many of the node's own heartbeats must have come back in that time. A node that was frozen or disconnected from
 * NATS received none, and must not declare the others dead.
 */
const ownBeats = 4;
const silentKept = 100;
/** A node that listens to none of so many probes has ended, or NATS has closed its connection. */
const probes = 3;
const probeEveryMs = 500;
/** After a restart of NATS the nodes come back one after the other. */
const stableMs = 5_000;

export interface MembersDependencies {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly self: () => Member;
}

/** `seenAt` is the time of its last heartbeat. */
type Listener = (instance: string, alive: boolean, seenAt: number) => void;

export class Members {
  readonly #dependencies: MembersDependencies;
  readonly #seen = new Map<
    string,
    { readonly member: Member; readonly at: number; readonly ownBeats: number }
  >();
  /** Nodes that fell silent, the latest last. A node that said goodbye is not among them. */
  readonly #silent = new Set<string>();
  readonly #listeners = new Set<Listener>();
  readonly #stops: (() => void)[] = [];
  readonly clocks: ClockDifferences;
  /** Nodes that are being probed. */
  readonly #suspected = new Set<string>();
  #connectedAt: number;
  readonly #timer: Timer;
  #ownBeats = 0;
  #ownBeatAt = 0;

  constructor(dependencies: MembersDependencies) {
    this.#dependencies = dependencies;
    const { link, clock } = dependencies;
    this.clocks = new ClockDifferences(clock);
    this.#connectedAt = clock.monotonic();
    this.#stops.push(
      link.onState(() => {
        this.#connectedAt = clock.monotonic();
      }),
      link.serve(this.#probeSubject(dependencies.self().instance), (_body, message) =>
        link.respond(message, "null"),
      ),
      link.subscribe(link.subject("beat"), (body) => this.#onBeat(body)),
      link.subscribe(link.subject("bye"), (body) => this.#onGoodbye(body)),
      // A new node asks all others for a heartbeat, instead of waiting for the next ones.
      link.subscribe(link.subject("who"), () => this.beat()),
    );
    link.publish(link.subject("who"), {});
    this.beat();
    this.#timer = clock.every(beatEveryMs, () => this.beat());
    const check = clock.every(checkEveryMs, () => this.#removeDead());
    this.#stops.push(() => check.cancel());
  }

  /** This node and all other live nodes. */
  alive(): Member[] {
    const others = [...this.#seen.values()].map(({ member }) => member);
    return [this.#dependencies.self(), ...others].sort((a, b) => (a.instance < b.instance ? -1 : 1));
  }

  isAlive(instance: string): boolean {
    return instance === this.#dependencies.self().instance || this.#seen.has(instance);
  }

  /** Whether a node that is not alive now may come back: it was killed, or it is frozen or cut off. */
  mayReturn(instance: string): boolean {
    return this.#silent.has(instance);
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * A request found no listener at a node that should be there. Probes it, so that the devices of a killed node do not count
   * as connected until its heartbeats are missed.
   */
  suspect(instance: string): void {
    const { clock } = this.#dependencies;
    // Nodes of 0.2 and older send no times with their heartbeats, and answer no probes.
    if (!this.#seen.has(instance) || this.#suspected.has(instance) || !this.clocks.knows(instance)) return;
    if (clock.monotonic() - this.#connectedAt < stableMs) return;
    this.#suspected.add(instance);
    this.#probe(instance, probes);
  }

  #probe(instance: string, left: number): void {
    const { link, clock } = this.#dependencies;
    const stop = () => {
      timer.cancel();
      probe.forget();
      this.#suspected.delete(instance);
    };
    const timer = clock.after(probeEveryMs, stop);
    const probe = link.ask(this.#probeSubject(instance), "null", (outcome) => {
      stop();
      if (outcome === "answered" || !this.#seen.has(instance)) return;
      if (left <= 1) {
        this.#lost(instance);
        return;
      }
      this.#suspected.add(instance);
      clock.after(probeEveryMs, () => this.#probe(instance, left - 1));
    });
  }

  #probeSubject(instance: string): string {
    return this.#dependencies.link.subject("probe", instance);
  }

  beat(): void {
    const { link, clock, self } = this.#dependencies;
    const times: NodeTimes = { monotonic: clock.monotonic(), wall: clock.now() };
    link.publish(link.subject("beat"), { ...self(), times });
  }

  /** Tells the others at once that this node stops. */
  sayGoodbye(): void {
    const { link, self } = this.#dependencies;
    link.publish(link.subject("bye"), { instance: self().instance });
  }

  stop(): void {
    this.#timer.cancel();
    for (const stop of this.#stops) stop();
  }

  #onBeat(body: unknown): void {
    // Safe: the NATS server lets only nodes of this cluster publish here.
    const { times, ...member } = body as Member & { readonly times?: NodeTimes };
    if (typeof member.instance !== "string") return;
    const at = this.#dependencies.clock.monotonic();
    if (member.instance === this.#dependencies.self().instance) {
      // Heartbeats that arrive together after a pause count once.
      if (at - this.#ownBeatAt < beatEveryMs / 2) return;
      this.#ownBeats += 1;
      this.#ownBeatAt = at;
      return;
    }
    if (times !== undefined) this.clocks.add(member.instance, times);
    const known = this.#seen.has(member.instance);
    this.#seen.set(member.instance, { member, at, ownBeats: this.#ownBeats });
    this.#silent.delete(member.instance);
    if (!known) this.#notify(member.instance, true, at);
  }

  #onGoodbye(body: unknown): void {
    const { instance } = body as { readonly instance?: unknown };
    if (typeof instance === "string" && this.#seen.delete(instance))
      this.#notify(instance, false, this.#dependencies.clock.monotonic());
  }

  #removeDead(): void {
    const now = this.#dependencies.clock.monotonic();
    for (const [instance, seen] of this.#seen) {
      if (now - seen.at < deadAfterMs || this.#ownBeats - seen.ownBeats < ownBeats) continue;
      this.#lost(instance);
    }
  }

  #lost(instance: string): void {
    const { at = this.#dependencies.clock.monotonic() } = this.#seen.get(instance) ?? {};
    this.#seen.delete(instance);
    this.#silent.add(instance);
    const [oldest] = this.#silent;
    if (this.#silent.size > silentKept && oldest !== undefined) this.#silent.delete(oldest);
    this.#notify(instance, false, at);
  }

  /** `at` is a time of this node's monotonic clock. */
  #notify(instance: string, alive: boolean, at: number): void {
    const { clock } = this.#dependencies;
    if (!alive) this.clocks.remove(instance);
    const seenAt = Math.round(clock.now() - (clock.monotonic() - at));
    for (const listener of this.#listeners) listener(instance, alive, seenAt);
  }
}
