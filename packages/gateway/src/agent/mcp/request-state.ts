/**
 * What a client is given to carry between two rounds of one call, and gives back: it may change it, so it is signed,
 * and it says for which token, tool and arguments it was made and until when [SRV-10].
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { JsonObject } from "@tendon/protocol";
import { isObject, parseJson } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import type { Services } from "../services.ts";

export interface Round {
  /** What a person is asked, or has said yes to: good for one call. */
  readonly ticket?: string;
  /** What exactly that person was asked about: the call, its targets, the tool as it was. */
  readonly word?: string;
  /** The person said yes in an earlier round. */
  readonly confirmed?: boolean;
  /** The device's own note. */
  readonly deviceState?: string;
  /** The call that has stayed open on this node [PRC-10]. */
  readonly openCall?: string;
}

export interface CallBinding {
  readonly principal: string;
  readonly target: string;
  readonly args: JsonObject;
}

type Tickets = Pick<Services["approvals"], "useTicket">;

const livesMs = 10 * 60_000;
/** Another node's clock may be behind, and would take a state for good that has lapsed here. */
const slackMs = 60 * 60_000;

class NotOurs extends Error {
  override readonly name = "NotOurs";
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
    const body = JSON.stringify({ ...round, for: digestOf(binding), until: this.#clock.now() + livesMs });
    const text = Buffer.from(body).toString("base64url");
    return `${text}.${this.#sign(text).toString("base64url")}`;
  }

  /** Throws on anything that was not sealed here, or long ago. */
  open(sealed: string): Round & { readonly for: string } {
    const [text = "", mac = ""] = sealed.split(".");
    const given = Buffer.from(mac, "base64url");
    const right = this.#sign(text);
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw new NotOurs("not signed here");
    const body = parseJson(Buffer.from(text, "base64url").toString());
    if (!isObject(body) || !(Number(body["until"]) > this.#clock.now())) throw new NotOurs("too old");
    // Safe: it carries our signature, so `seal` wrote it.
    return body as unknown as Round & { for: string };
  }

  /** Whether this is its first use: states outlive this run, and are read on every node. */
  useTicket(ticket: string): Promise<boolean> {
    return this.#approvals.useTicket(ticket, this.#clock.now() + livesMs + slackMs);
  }

  #sign(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text).digest();
  }
}

export function digestOf({ principal, target, args }: CallBinding): string {
  return hash("sha256", JSON.stringify([principal, target, args]), "base64url");
}
