/**
 * Tickets for one picture each. A ticket belongs to one call of one device; it is used once and ends with its call.
 * Only hashes are kept, so that how long a look-up takes says nothing of the tokens themselves.
 */

import { createHash, randomBytes } from "node:crypto";
import { visionLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";

export interface TicketHolder {
  readonly deviceId: string;
  readonly callId: string;
}

type TicketState<Content> =
  | { readonly kind: "open" }
  | { readonly kind: "used" }
  | { readonly kind: "delivered"; readonly content: Content }
  | { readonly kind: "closed" };

/** A ticket as its upload holds it. */
export interface Ticket<Content> extends TicketHolder {
  readonly openedAt: number;
  /** Aborted when the call is over: nobody waits for the rest. */
  readonly over: AbortController;
  state: TicketState<Content>;
}

export type Claim<Content> =
  | { readonly kind: "granted"; readonly ticket: Ticket<Content> }
  | { readonly kind: "already_sent" }
  | { readonly kind: "call_over" }
  | { readonly kind: "unknown" };

export class Tickets<Content> {
  readonly #mark: string;
  readonly #clock: Clock;
  /** In the order they were opened, so that the first is the one that lapses first. */
  readonly #open = new Map<string, Ticket<Content>>();
  /** Whose closed tickets were, and since when. */
  readonly #closed = new Map<string, { readonly deviceId: string; readonly at: number }>();

  /** `mark`: what each token begins with, so that another node can tell whose it is. */
  constructor(clock: Clock, mark: string) {
    this.#clock = clock;
    this.#mark = mark;
  }

  open(holder: TicketHolder): string {
    this.#lapse();
    if (this.#open.size >= visionLimits.openTickets.max) {
      throw new TendonError(visionLimits.openTickets.error, "too many pictures are being taken at once");
    }
    const token = `${this.#mark}${randomBytes(24).toString("base64url")}`;
    this.#open.set(hashOf(token), {
      deviceId: holder.deviceId,
      callId: holder.callId,
      openedAt: this.#clock.monotonic(),
      over: new AbortController(),
      state: { kind: "open" },
    });
    return token;
  }

  close(token: string): void {
    this.#close(hashOf(token));
  }

  closeAll(): void {
    for (const key of [...this.#open.keys()]) this.#close(key);
  }

  /** Uses the ticket up. Another device's ticket is as unknown as none: a stranger learns nothing from the answer. */
  claim(token: string, deviceId: string): Claim<Content> {
    this.#lapse();
    const key = hashOf(token);
    const ticket = this.#open.get(key);
    if (ticket === undefined) {
      const closed = this.#closed.get(key);
      return { kind: closed?.deviceId === deviceId ? "call_over" : "unknown" };
    }
    if (ticket.deviceId !== deviceId) return { kind: "unknown" };
    if (ticket.state.kind !== "open") return { kind: "already_sent" };
    ticket.state = { kind: "used" };
    return { kind: "granted", ticket };
  }

  /** False when the call was over before its picture was here. */
  deliver(ticket: Ticket<Content>, content: Content): boolean {
    if (ticket.state.kind !== "used") return false;
    ticket.state = { kind: "delivered", content };
    return true;
  }

  contentOf(token: string): Content | undefined {
    const state = this.#open.get(hashOf(token))?.state;
    return state?.kind === "delivered" ? state.content : undefined;
  }

  #lapse(): void {
    const before = this.#clock.monotonic() - visionLimits.ticketMs.max;
    for (const [key, { openedAt }] of this.#open) {
      if (openedAt > before) break;
      this.#close(key);
    }
    for (const [key, { at }] of this.#closed) {
      if (at > before && this.#closed.size <= visionLimits.closedTickets.max) break;
      this.#closed.delete(key);
    }
  }

  #close(key: string): void {
    const ticket = this.#open.get(key);
    if (ticket === undefined) return;
    this.#open.delete(key);
    this.#closed.set(key, { deviceId: ticket.deviceId, at: this.#clock.monotonic() });
    ticket.state = { kind: "closed" };
    ticket.over.abort();
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
