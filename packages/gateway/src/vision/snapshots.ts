import type { Clock } from "../clock.ts";
import type { PictureType } from "./picture-format.ts";
import { type Claim, type Ticket, type TicketHolder, Tickets } from "./tickets.ts";

export interface Screenshot {
  readonly mimeType: PictureType;
  readonly bytes: Buffer;
}

/**
 * Screenshots on their way to their calls [CAM-4]. The firmware uploads them without credentials, so the ticket is in
 * the address. No copy is stored: clients with the scope `read` can list stored photos, while a screenshot is the result
 * of a user-only tool.
 */
export class Snapshots {
  readonly #tickets: Tickets<Screenshot>;

  constructor(clock: Clock, idPrefix: string) {
    this.#tickets = new Tickets(clock, idPrefix);
  }

  /** Throws a TendonError if too many tickets are open. */
  openTicket(holder: TicketHolder): string {
    return this.#tickets.open(holder);
  }

  closeTicket(token: string): void {
    this.#tickets.close(token);
  }

  pictureOf(token: string): Screenshot | undefined {
    return this.#tickets.contentOf(token);
  }

  /** Why the upload for this ticket was rejected. */
  failureOf(token: string): string | undefined {
    return this.#tickets.failureOf(token);
  }

  claim(token: string): Claim<Screenshot> {
    return this.#tickets.claim(token, undefined);
  }

  /** Returns false if the call has ended. */
  deliver(ticket: Ticket<Screenshot>, screenshot: Screenshot): boolean {
    return this.#tickets.deliver(ticket, screenshot);
  }

  fail(ticket: Ticket<Screenshot>, reason: string): void {
    this.#tickets.fail(ticket, reason);
  }

  stop(): void {
    this.#tickets.closeAll();
  }
}
