/** What a board that asks for its settings gets, by the admission policy and the state of its pair. */
import { randomBytes, randomInt } from "node:crypto";
import { limits } from "@tendon/protocol";
import { sourceOf, Throttle } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { TendonError } from "../errors.ts";
import type { ImportedDevice, Store } from "../store/store.ts";
import { type DeviceCredentials, digest, type Standing } from "./credentials.ts";
import { Decisions } from "./decisions.ts";
import { Imports } from "./imports.ts";
import type { BoardAsk, SerialProof } from "./ota.ts";
import { SealedKeys } from "./sealed-keys.ts";
import { needsProof, provesSerial } from "./serial-proof.ts";
import { Welcome, type WelcomeNeeds } from "./welcome.ts";

export type Entry =
  | { readonly kind: "approved"; readonly credentials: DeviceCredentials }
  /** Without a code: too many wait already, so it has to ask again. */
  | { readonly kind: "waits"; readonly code: string | undefined; readonly challenge: string }
  | { readonly kind: "refused"; readonly error: TendonError };

export interface ProvisioningNeeds extends WelcomeNeeds {
  readonly admission: Config["devices"]["admission"];
  readonly secret: string;
  readonly store: Store;
  readonly clock: Clock;
  /** Failed sign-ins by source; a wrong proof is one. */
  readonly signIns: Throttle;
}

/** Stands as whoever approved where nobody had to. */
const theList = "the list";
const codes = 1_000_000;
const anotherNewcomerMs = 1_000;

export class Provisioning {
  readonly imports: Imports;
  readonly decisions: Decisions;
  readonly #needs: ProvisioningNeeds;
  readonly #keys: SealedKeys;
  readonly #welcome: Welcome;
  /** Boards never seen, by where they come from. */
  readonly #newcomers: Throttle;

  constructor(needs: ProvisioningNeeds) {
    this.#needs = needs;
    this.#newcomers = new Throttle(needs.clock, {
      burst: limits.pendingPairsPerSource.max,
      everyMs: anotherNewcomerMs,
    });
    this.#keys = new SealedKeys(needs.secret);
    this.#welcome = new Welcome(needs);
    this.imports = new Imports(needs.store, this.#keys);
    this.decisions = new Decisions({ ...needs, welcome: this.#welcome });
  }

  /** A board asks for its settings. */
  async enter(ask: BoardAsk): Promise<Entry> {
    const { admission, credentials } = this.#needs;
    const standing = credentials.standing(ask.deviceId, ask.clientId);
    if (standing.kind === "approved") return standing;
    if (admission === "closed") return refused("this gateway lets no new devices in");
    if (standing.kind === "unknown") {
      if (admission === "open") return await this.#takeIn(ask);
      if (admission === "list") {
        const imported = await this.#needs.store.imports.get(ask.deviceId);
        if (imported === undefined) return refused("this device is not on the list");
        if (!needsProof(imported)) return await this.#takeIn(ask, imported);
      }
    }
    return await this.#wait(ask, standing);
  }

  /** A board that waits asks whether it may come in by now [OTA-6]. */
  async activate(ask: BoardAsk, proof: SerialProof | undefined): Promise<boolean> {
    const { admission, credentials, store, signIns } = this.#needs;
    const standing = credentials.standing(ask.deviceId, ask.clientId);
    if (standing.kind === "approved") return true;
    if (admission === "closed") throw new TendonError("forbidden", "this gateway lets no new devices in");
    const clientId = digest(ask.clientId);
    const pairing = await store.pairings.find(ask.deviceId, clientId.toString("hex"));
    // Its code has run out, or it never asked: its next question for settings brings a new one.
    if (pairing === undefined) return false;
    const imported = await store.imports.get(ask.deviceId);
    if (!needsProof(imported)) return false;
    if (!provesSerial(this.#keys, imported, ask, pairing.challenge, proof)) {
      // Somebody who goes on and on is not written down each time.
      if (signIns.count(sourceOf(ask.from)) === 0)
        await store.pairings.failed(ask.deviceId, pairing.clientIdHash);
      throw new TendonError("forbidden", "the board did not prove the serial number it was imported with");
    }
    await store.pairings.proved(ask.deviceId, pairing.clientIdHash);
    // A proof is enough for a board that nobody knows. It never replaces one that is here: that is for a person.
    if (admission !== "list" || credentials.standing(ask.deviceId, ask.clientId).kind !== "unknown")
      return false;
    await this.#welcome.approve(ask.deviceId, clientId, { by: theList, tags: imported.tags });
    await store.pairings.take(pairing.code);
    return true;
  }

  /** Credentials for the asking. */
  async #takeIn(ask: BoardAsk, imported?: ImportedDevice): Promise<Entry> {
    const { credentials, devices } = this.#needs;
    try {
      await credentials.approveUnasked(ask.deviceId, ask.clientId);
      await devices.tagNew(ask.deviceId, imported?.tags ?? []);
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      return this.#noRoom(error.message);
    }
    const standing = credentials.standing(ask.deviceId, ask.clientId);
    return standing.kind === "approved" ? standing : this.#noRoom("another board of this id was faster");
  }

  async #wait(ask: BoardAsk, standing: Standing): Promise<Entry> {
    const { store, clock, events } = this.#needs;
    const { deviceId, board = null, version: firmware = null, serial = null, from = null } = ask;
    const clientIdHash = digest(ask.clientId).toString("hex");
    const before = await store.pairings.find(deviceId, clientIdHash);
    if (before !== undefined) return { kind: "waits", code: before.code, challenge: before.challenge };
    const source = sourceOf(ask.from);
    // Somebody who makes up new boards without end is not worth a look at the disk.
    if (this.#newcomers.count(source) > 0) return this.#noRoom();
    const challenge = newChallenge();
    const pairing = await store.pairings.open({
      device: deviceId,
      clientIdHash,
      challenge,
      details: { board, firmware, serial, from },
      expiresAt: clock.now() + limits.pairingCodeMs.max,
      source,
      makeCode: () => randomInt(codes).toString().padStart(6, "0"),
    });
    if (pairing === undefined) return this.#noRoom("too many boards wait for approval");
    if (pairing.challenge === challenge) {
      const known = standing.kind === "unknown" ? "new" : standing.kind;
      events.devicePending(deviceId, { board, firmware, from, standing: known });
    }
    return { kind: "waits", code: pairing.code, challenge: pairing.challenge };
  }

  /** [OTA-8] A challenge without a code keeps the board asking; any other answer would make it give up. */
  #noRoom(reason?: string): Entry {
    const { events } = this.#needs;
    if (reason === undefined) events.connectionThrottled();
    else events.connectionRefused({ code: "rate_limited", reason });
    return { kind: "waits", code: undefined, challenge: newChallenge() };
  }
}

function newChallenge(): string {
  return randomBytes(16).toString("hex");
}

function refused(why: string): Entry {
  return { kind: "refused", error: new TendonError("forbidden", why) };
}
