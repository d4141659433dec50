/**
 * Changes that one node broadcasts to the others: a device, a token or a console session to read again. The sender can
 * wait until every node has applied the change, so that its reply is true on all nodes.
 */
import { randomUUID } from "node:crypto";
import type { SessionEnding } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { NatsLink } from "./nats-link.ts";

export type Broadcast =
  | { readonly kind: "device"; readonly id: string }
  | { readonly kind: "device_gone"; readonly id: string }
  | { readonly kind: "token"; readonly id: string }
  | {
      readonly kind: "session";
      readonly key: string;
      readonly principalId: string;
      readonly credential: string;
      readonly openedAt: number;
      readonly usedAt: number;
    }
  | { readonly kind: "session_ended"; readonly key: string; readonly why: SessionEnding }
  /** What a device said of itself; nobody waits until it is known. */
  | { readonly kind: "status"; readonly id: string; readonly at: number; readonly value: unknown }
  /** The level a device had before it was muted; without one it was set anew. */
  | {
      readonly kind: "muted";
      readonly device: string;
      readonly tool: string;
      readonly level?: number | undefined;
    }
  /** What callers have spent of their limits at one node, in that room's own words. */
  | { readonly kind: "spent"; readonly spent: unknown };

export interface BroadcastsNeeds {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly instance: string;
  readonly others: () => number;
}

/** One that does not answer in this time is gone or stuck; it reads everything anew when it is back. */
const patienceMs = 1_000;

export class Broadcasts {
  readonly #needs: BroadcastsNeeds;
  readonly #stops: (() => void)[] = [];
  readonly #awaited = new Map<string, { left: number; done: () => void }>();

  constructor(needs: BroadcastsNeeds) {
    this.#needs = needs;
    const { link, instance } = needs;
    this.#stops.push(
      link.subscribe(link.subject("taken", instance), (body) => {
        const waiting = this.#awaited.get((body as { readonly id: string }).id);
        if (waiting === undefined) return;
        waiting.left -= 1;
        if (waiting.left <= 0) waiting.done();
      }),
    );
  }

  onBroadcast(take: (news: Broadcast) => Promise<void>): void {
    const { link, instance } = this.#needs;
    this.#stops.push(
      link.subscribe(link.subject("news"), (body) => {
        const { id, from, news } = body as {
          readonly id?: string;
          readonly from: string;
          readonly news: Broadcast;
        };
        if (from === instance) return;
        if (id === undefined) {
          void take(news).catch(() => {});
          return;
        }
        // What could not be read is no reason to keep the teller waiting.
        void take(news).then(
          () => link.publish(link.subject("taken", from), { id }),
          () => link.publish(link.subject("taken", from), { id }),
        );
      }),
    );
  }

  /** Resolves when every node that is heard has taken it in, or has had its time. */
  async tell(news: Broadcast): Promise<void> {
    const { link, clock, instance, others } = this.#needs;
    const left = others();
    const id = randomUUID();
    if (!link.publish(link.subject("news"), { id, from: instance, news }) || left === 0) return;
    await new Promise<void>((resolve) => {
      const timer = clock.after(patienceMs, () => done());
      const done = () => {
        timer.cancel();
        this.#awaited.delete(id);
        resolve();
      };
      this.#awaited.set(id, { left, done });
    });
  }

  /** Nobody waits for anybody to have taken it in; what is too large for a message is not told. */
  mention(news: Broadcast): void {
    const { link, instance } = this.#needs;
    const said = { from: instance, news };
    if (link.fits(JSON.stringify(said))) link.publish(link.subject("news"), said);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    for (const { done } of this.#awaited.values()) done();
  }
}
