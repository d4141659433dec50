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
  /** The device was deleted with everything that is known about it. */
  | { readonly kind: "history_gone"; readonly device: string; readonly serial?: string | undefined }
  | { readonly kind: "token"; readonly id: string }
  | { readonly kind: "webhook"; readonly id: string }
  | { readonly kind: "http_device"; readonly id: string }
  | {
      readonly kind: "session";
      readonly key: string;
      readonly principalId: string;
      readonly credential: string;
      readonly openedAt: number;
      readonly usedAt: number;
    }
  | { readonly kind: "session_ended"; readonly key: string; readonly why: SessionEnding }
  /** The status that a device reported. */
  | { readonly kind: "status"; readonly id: string; readonly at: number; readonly value: unknown }
  /** The level of a device before it was muted; without a level the remembered one is dropped. */
  | {
      readonly kind: "muted";
      readonly device: string;
      readonly tool: string;
      readonly level?: number | undefined;
    }
  /** Requests counted on one node, in the format of access/. */
  | { readonly kind: "spent"; readonly spent: unknown };

export interface BroadcastsDependencies {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly instance: string;
  readonly others: () => number;
}

/** A node that does not acknowledge in this time is dead or stuck; it reloads everything when it is back. */
const acknowledgeMs = 1_000;

export class Broadcasts {
  readonly #dependencies: BroadcastsDependencies;
  readonly #stops: (() => void)[] = [];
  readonly #awaited = new Map<string, { left: number; done: () => void }>();
  /** The last broadcast of each object that this node could not apply. */
  readonly #failed = new Map<string, Broadcast>();
  #apply: (broadcast: Broadcast) => Promise<void> = async () => undefined;

  constructor(dependencies: BroadcastsDependencies) {
    this.#dependencies = dependencies;
    const { link, instance } = dependencies;
    this.#stops.push(
      link.subscribe(link.subject("taken", instance), (body) => {
        const waiting = this.#awaited.get((body as { readonly id: string }).id);
        if (waiting === undefined) return;
        waiting.left -= 1;
        if (waiting.left <= 0) waiting.done();
      }),
    );
  }

  onBroadcast(apply: (broadcast: Broadcast) => Promise<void>): void {
    const { link, instance } = this.#dependencies;
    this.#apply = apply;
    this.#stops.push(
      link.subscribe(link.subject("news"), (body) => {
        const {
          id,
          from,
          news: broadcast,
        } = body as {
          readonly id?: string;
          readonly from: string;
          readonly news: Broadcast;
        };
        if (from === instance) return;
        if (id === undefined) {
          void apply(broadcast).catch(() => {});
          return;
        }
        // A failure is acknowledged too, so that the sender does not wait for its timeout.
        void this.#applyOrKeep(broadcast).then(() => link.publish(link.subject("taken", from), { id }));
      }),
    );
  }

  /** Applies what failed before, for example because the store was unavailable. */
  async retryFailed(): Promise<void> {
    const failed = [...this.#failed.values()];
    this.#failed.clear();
    for (const broadcast of failed) await this.#applyOrKeep(broadcast);
  }

  async #applyOrKeep(broadcast: Broadcast): Promise<void> {
    const key = "id" in broadcast ? broadcast.id : undefined;
    try {
      if (key !== undefined) this.#failed.delete(`${broadcast.kind} ${key}`);
      await this.#apply(broadcast);
    } catch {
      // Without an id it is of the moment, and the next one replaces it.
      if (key !== undefined) this.#failed.set(`${broadcast.kind} ${key}`, broadcast);
    }
  }

  /** Resolves when every other node has applied the broadcast, or after a second. */
  async sendAndWait(news: Broadcast): Promise<void> {
    const { link, clock, instance, others } = this.#dependencies;
    const left = others();
    const id = randomUUID();
    if (!link.publish(link.subject("news"), { id, from: instance, news }) || left === 0) return;
    await new Promise<void>((resolve) => {
      const timer = clock.after(acknowledgeMs, () => done());
      const done = () => {
        timer.cancel();
        this.#awaited.delete(id);
        resolve();
      };
      this.#awaited.set(id, { left, done });
    });
  }

  /** Sends without waiting; a broadcast that is too large for a message is dropped. */
  send(news: Broadcast): void {
    const { link, instance } = this.#dependencies;
    const message = { from: instance, news };
    if (link.fits(JSON.stringify(message))) link.publish(link.subject("news"), message);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    for (const { done } of this.#awaited.values()) done();
  }
}
