/**
 * Which nodes there are. Each says so every few seconds; one that falls silent is taken for gone, and counts again
 * when it is heard again. An instance is one run of one process: a restarted node is a new one.
 */
import type { Clock, Timer } from "../clock.ts";
import type { NatsLink } from "./nats-link.ts";

export interface Member {
  readonly instance: string;
  /** The machine's name, for people. */
  readonly node: string;
  readonly version: string;
  readonly startedAt: number;
  readonly devices: number;
  readonly draining: boolean;
}

const beatEveryMs = 2_000;
/** Five beats: a busy node is not gone, and its devices still show offline well within 15 s. */
const silentForMs = 10_000;
/**
 * So many of our own beats must have come back to us in that silence. One that was frozen, or cut off from NATS, has
 * heard nobody, itself neither: that says nothing about the others.
 */
const ownBeats = 4;

export interface MembersNeeds {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly self: () => Member;
}

type Listener = (instance: string, alive: boolean) => void;

export class Members {
  readonly #needs: MembersNeeds;
  readonly #heard = new Map<
    string,
    { readonly member: Member; readonly at: number; readonly ownBeats: number }
  >();
  readonly #listeners = new Set<Listener>();
  readonly #stops: (() => void)[] = [];
  readonly #timer: Timer;
  #ownBeats = 0;
  #ownBeatAt = 0;

  constructor(needs: MembersNeeds) {
    this.#needs = needs;
    const { link, clock } = needs;
    this.#stops.push(
      link.subscribe(link.subject("beat"), (body) => this.#hear(body)),
      link.subscribe(link.subject("bye"), (body) => this.#bye(body)),
      // Whoever comes asks who is there, instead of waiting for the next beat of each.
      link.subscribe(link.subject("who"), () => this.beat()),
    );
    link.publish(link.subject("who"), {});
    this.beat();
    this.#timer = clock.every(beatEveryMs, () => {
      this.beat();
      this.#bury();
    });
  }

  /** This node and all others that are heard. */
  alive(): Member[] {
    const others = [...this.#heard.values()].map(({ member }) => member);
    return [this.#needs.self(), ...others].sort((a, b) => (a.instance < b.instance ? -1 : 1));
  }

  isAlive(instance: string): boolean {
    return instance === this.#needs.self().instance || this.#heard.has(instance);
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  beat(): void {
    const { link, self } = this.#needs;
    link.publish(link.subject("beat"), self());
  }

  /** Others need not wait for the silence. */
  sayGoodbye(): void {
    const { link, self } = this.#needs;
    link.publish(link.subject("bye"), { instance: self().instance });
  }

  stop(): void {
    this.#timer.cancel();
    for (const stop of this.#stops) stop();
  }

  #hear(body: unknown): void {
    // Safe: only nodes of this cluster may publish here, under the server's own rules.
    const member = body as Member;
    if (typeof member.instance !== "string") return;
    const at = this.#needs.clock.monotonic();
    if (member.instance === this.#needs.self().instance) {
      // Those that come all at once, after a pause, are one sign of life.
      if (at - this.#ownBeatAt < beatEveryMs / 2) return;
      this.#ownBeats += 1;
      this.#ownBeatAt = at;
      return;
    }
    const known = this.#heard.has(member.instance);
    this.#heard.set(member.instance, { member, at, ownBeats: this.#ownBeats });
    if (!known) this.#say(member.instance, true);
  }

  #bye(body: unknown): void {
    const { instance } = body as { readonly instance?: unknown };
    if (typeof instance === "string" && this.#heard.delete(instance)) this.#say(instance, false);
  }

  #bury(): void {
    const now = this.#needs.clock.monotonic();
    for (const [instance, heard] of this.#heard) {
      if (now - heard.at < silentForMs || this.#ownBeats - heard.ownBeats < ownBeats) continue;
      this.#heard.delete(instance);
      this.#say(instance, false);
    }
  }

  #say(instance: string, alive: boolean): void {
    for (const listener of this.#listeners) listener(instance, alive);
  }
}
