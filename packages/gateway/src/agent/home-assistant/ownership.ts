/**
 * One gateway publishes on a broker; others wait for it to end. The owner is a retained message. A gateway that finds
 * another owner asks for it, and takes over if no answer comes: the owner may have vanished together with its will.
 */
import { isObject, parseJson } from "@tendon/protocol";
import type { Clock, Timer } from "../../clock.ts";
import { gatewayTopic, root } from "./discovery.ts";

export interface OwnershipDependencies {
  readonly clock: Clock;
  /** This run of the gateway. */
  readonly run: string;
  /** The name of this gateway, for the log of the other one. */
  readonly name: string;
  readonly publish: (topic: string, payload: string, retain: boolean) => void;
  readonly changed: () => void;
}

const ownerTopic = `${root}/owner`;
const askTopic = `${root}/owner/ask`;
const answerMs = 5_000;
const askAgainMs = 60_000;

export class Ownership {
  readonly #dependencies: OwnershipDependencies;
  readonly #syncTopic: string;
  #owner: { readonly run: string; readonly name: string } | undefined;
  #isGatewayOnline = false;
  #owns = false;
  /** It has published its claim, which the broker has not returned yet. */
  #isClaiming = false;
  #timer: Timer | undefined;

  constructor(dependencies: OwnershipDependencies) {
    this.#dependencies = dependencies;
    this.#syncTopic = `${root}/owner/sync/${dependencies.run}`;
  }

  get owns(): boolean {
    return this.#owns;
  }

  /** The name of the other gateway that owns the broker. */
  get otherOwner(): string | undefined {
    const { run } = this.#dependencies;
    return this.#owner === undefined || this.#owner.run === run ? undefined : this.#owner.name;
  }

  /** Whether another gateway publishes now, as far as the broker knows. */
  get hasLiveOwner(): boolean {
    return this.otherOwner !== undefined && this.#isGatewayOnline && !this.#isClaiming;
  }

  get isClaiming(): boolean {
    return this.#isClaiming;
  }

  get filters(): readonly string[] {
    return [ownerTopic, gatewayTopic, askTopic, this.#syncTopic];
  }

  /** Its subscriptions were sent. The broker sends the retained messages before the one that is published here. */
  connected(): void {
    this.#owner = undefined;
    this.#isGatewayOnline = false;
    this.#isClaiming = false;
    this.#dependencies.publish(this.#syncTopic, "decide", false);
  }

  disconnected(): void {
    this.#timer?.cancel();
    this.#setOwns(false);
  }

  /** Gives the broker to another gateway. */
  release(): void {
    this.#timer?.cancel();
    if (!this.#owns) return;
    this.#owns = false;
    const { publish } = this.#dependencies;
    publish(gatewayTopic, "offline", true);
    publish(ownerTopic, "", true);
  }

  /** Returns whether the message was one of these. */
  message(topic: string, payload: Buffer): boolean {
    const text = payload.toString();
    if (topic === ownerTopic) this.#ownerChanged(text);
    else if (topic === gatewayTopic) this.#gatewayChanged(text === "online");
    else if (topic === askTopic) {
      if (this.#owns) this.#announce();
    } else if (topic === this.#syncTopic) {
      if (text === "decide") this.#decide();
      else this.#claimed();
    } else return false;
    return true;
  }

  #ownerChanged(text: string): void {
    const message = parseJson(text);
    const { run, name } = isObject(message) ? message : {};
    this.#owner = typeof run === "string" ? { run, name: String(name).slice(0, 100) } : undefined;
    this.#timer?.cancel();
    if (this.otherOwner !== undefined) {
      this.#setOwns(false);
      this.#timer = this.#dependencies.clock.after(askAgainMs, () => this.#ask());
      this.#dependencies.changed();
    } else if (this.#owner === undefined && this.#owns) {
      // The last message of this gateway's earlier connection, or the broker was cleaned.
      this.#announce();
    } else if (this.#owner === undefined) {
      this.#dependencies.publish(this.#syncTopic, "decide", false);
    }
  }

  #gatewayChanged(isOnline: boolean): void {
    this.#isGatewayOnline = isOnline;
    if (isOnline) return;
    // The will of a gateway that waits says the same.
    if (this.#owns) this.#dependencies.publish(gatewayTopic, "online", true);
    else if (this.otherOwner !== undefined) this.#ask();
  }

  #decide(): void {
    if (this.#owns) return;
    if (this.otherOwner === undefined || !this.#isGatewayOnline) this.#claim();
    else this.#ask();
  }

  #ask(): void {
    this.#timer?.cancel();
    this.#dependencies.publish(askTopic, "", false);
    this.#timer = this.#dependencies.clock.after(answerMs, () => this.#claim());
    this.#dependencies.changed();
  }

  /** Of two that claim at once, the one whose message came last is the owner. */
  #claim(): void {
    this.#timer?.cancel();
    this.#isClaiming = true;
    // First: a gateway that finds this owner must not think that it has ended.
    this.#dependencies.publish(gatewayTopic, "online", true);
    this.#announce();
    this.#dependencies.publish(this.#syncTopic, "claimed", false);
  }

  #claimed(): void {
    this.#isClaiming = false;
    if (this.#owner?.run === this.#dependencies.run) this.#setOwns(true);
    else this.#dependencies.changed();
  }

  #announce(): void {
    const { run, name, publish } = this.#dependencies;
    publish(ownerTopic, JSON.stringify({ run, name }), true);
  }

  #setOwns(owns: boolean): void {
    if (this.#owns === owns) return;
    this.#owns = owns;
    this.#dependencies.changed();
  }
}
