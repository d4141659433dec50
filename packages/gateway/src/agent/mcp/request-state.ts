/**
 * The state that a client carries between two rounds of one call. The gateway signs it, because a client could change
 * it. It is bound to the token, the tool and the arguments, and expires [SRV-10].
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { JsonObject } from "@tendon/protocol";
import { isObject, parseJson } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import type { Services } from "../services.ts";

export interface Round {
  /** Identifies the question to a person. Its approval is valid for one call. */
  readonly ticket?: string;
  /** The `binding` of the confirmation: a digest of the call, its targets and the tool as it was. Other nodes read it under this name. */
  readonly word?: string;
  /** The person approved the call in an earlier round. */
  readonly confirmed?: boolean;
  /** The `requestState` of the device itself. */
  readonly deviceState?: string;
  /** The id of a call that is still open on this node [PRC-10]. */
  readonly openCall?: string;
}

export interface CallBinding {
  readonly principal: string;
  readonly target: string;
  readonly args: JsonObject;
}

type Tickets = Pick<Services["approvals"], "useTicket">;

const lifetimeMs = 10 * 60_000;
/** A node whose clock is behind would accept a state that has expired here, so used tickets are kept longer. */
const clockSkewMs = 60 * 60_000;

class InvalidRequestState extends Error {
  override readonly name = "InvalidRequestState";
}

export class RequestStates {
  readonly #key: Buffer;
  readonly #clock: Clock;
  readonly #approvals: Tickets;

  constructor(clock: Clock, key: Buffer, approvals: Tickets) {
    this.#clock = clock;
    this.#key = key;
    this.#approvals = approvals;
  }

  seal(binding: CallBinding, round: Round): string {
    const body = JSON.stringify({ ...round, for: digestOf(binding), until: this.#clock.now() + lifetimeMs });
    const text = Buffer.from(body).toString("base64url");
    return `${text}.${this.#sign(text).toString("base64url")}`;
  }

  /** Throws if the state has no valid signature or has expired. */
  open(sealed: string): Round & { readonly for: string } {
    const [text = "", mac = ""] = sealed.split(".");
    const given = Buffer.from(mac, "base64url");
    const right = this.#sign(text);
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw new InvalidRequestState("the signature is not valid");
    const body = parseJson(Buffer.from(text, "base64url").toString());
    if (!isObject(body) || !(Number(body["until"]) > this.#clock.now()))
      throw new InvalidRequestState("the state has expired");
    // Safe: the signature is valid, so `seal` wrote it.
    return body as unknown as Round & { for: string };
  }

  /** Whether this is the first use of the ticket, on all nodes and across restarts. */
  useTicket(ticket: string): Promise<boolean> {
    return this.#approvals.useTicket(ticket, this.#clock.now() + lifetimeMs + clockSkewMs);
  }

  #sign(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text).digest();
  }
}

export function digestOf({ principal, target, args }: CallBinding): string {
  return hash("sha256", JSON.stringify([principal, target, args]), "base64url");
}
