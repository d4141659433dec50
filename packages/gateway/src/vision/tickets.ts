/**
 * Tickets for one picture each. A ticket belongs to one call of one device, is used once and ends with its call. Only
 * hashes are stored, so that the time of a lookup reveals nothing about the tokens.
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
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "closed" };

/** A ticket as its upload sees it. */
export interface Ticket<Content> extends TicketHolder {
  readonly openedAt: number;
  /** Aborted when the call has ended. */
  readonly ended: AbortController;
  state: TicketState<Content>;
}

export type Claim<Content> =
  | { readonly kind: "granted"; readonly ticket: Ticket<Content> }
  | { readonly kind: "already_sent" }
  | { readonly kind: "call_over" }
  | { readonly kind: "unknown" };

export class Tickets<Content> {
  readonly #idPrefix: string;
  readonly #clock: Clock;
  /** In the order of opening, so that the first expires first. */
  readonly #open = new Map<string, Ticket<Content>>();
  /** The devices of closed tickets, and when each was closed. */
  readonly #closed = new Map<string, { readonly deviceId: string; readonly at: number }>();

  /** `idPrefix`: the prefix of each token, so that other nodes can find its node. */
  constructor(clock: Clock, idPrefix: string) {
    this.#clock = clock;
    this.#idPrefix = idPrefix;
  }

  open(holder: TicketHolder): string {
    this.#expire();
    if (this.#open.size >= visionLimits.openTickets.max) {
      throw new TendonError(
        visionLimits.openTickets.error,
        "too many pictures are being taken at once; retry later",
      );
    }
    const token = `${this.#idPrefix}${randomBytes(24).toString("base64url")}`;
    this.#open.set(hashOf(token), {
      deviceId: holder.deviceId,
      callId: holder.callId,
      openedAt: this.#clock.monotonic(),
      ended: new AbortController(),
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

  /**
   * Consumes the ticket. A ticket of another device is `unknown`, so that the reply reveals nothing about it.
   * `deviceId`: `undefined` if the upload does not name its device.
   */
  claim(token: string, deviceId: string | undefined): Claim<Content> {
    this.#expire();
    const key = hashOf(token);
    const ticket = this.#open.get(key);
    if (ticket === undefined) {
      const closed = this.#closed.get(key);
      if (closed === undefined) return { kind: "unknown" };
      return { kind: isOf(closed, deviceId) ? "call_over" : "unknown" };
    }
    if (!isOf(ticket, deviceId)) return { kind: "unknown" };
    if (ticket.state.kind !== "open") return { kind: "already_sent" };
    ticket.state = { kind: "used" };
    return { kind: "granted", ticket };
  }

  /** Returns false if the call ended before its picture arrived. */
  deliver(ticket: Ticket<Content>, content: Content): boolean {
    if (ticket.state.kind !== "used") return false;
    ticket.state = { kind: "delivered", content };
    return true;
  }

  /** Records why the ticket's upload was rejected. */
  fail(ticket: Ticket<Content>, reason: string): void {
    if (ticket.state.kind === "used") ticket.state = { kind: "failed", reason };
  }

  failureOf(token: string): string | undefined {
    const state = this.#open.get(hashOf(token))?.state;
    return state?.kind === "failed" ? state.reason : undefined;
  }

  contentOf(token: string): Content | undefined {
    const state = this.#open.get(hashOf(token))?.state;
    return state?.kind === "delivered" ? state.content : undefined;
  }

  /** Whether the picture of a running call has arrived. */
  isDelivered(callId: string): boolean {
    for (const ticket of this.#open.values())
      if (ticket.callId === callId) return ticket.state.kind === "delivered";
    return false;
  }

  #expire(): void {
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
    ticket.ended.abort();
  }
}

function isOf(holder: Pick<TicketHolder, "deviceId">, deviceId: string | undefined): boolean {
  return deviceId === undefined || holder.deviceId === deviceId;
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
