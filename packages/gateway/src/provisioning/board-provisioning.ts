/** Answers a board's request for its settings, by the admission policy and the state of its credential pair. */
import { randomBytes, randomInt } from "node:crypto";
import { limits } from "@tendon/protocol";
import { sourceOf, Throttle } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { TendonError } from "../errors.ts";
import type { ImportedDevice, Store } from "../store/store.ts";
import { type DeviceCredentials, digest, type PairState } from "./credentials.ts";
import { Decisions } from "./decisions.ts";
import { Imports } from "./imports.ts";
import type { BoardRequest, SerialProof } from "./ota.ts";
import { type ApprovalDependencies, PairApproval } from "./pair-approval.ts";
import { SealedKeys } from "./sealed-keys.ts";
import { needsProof, provesSerial } from "./serial-proof.ts";

export type Entry =
  | { readonly kind: "approved"; readonly credentials: DeviceCredentials }
  /** Without a code if too many boards are waiting; the board then asks again. */
  | { readonly kind: "waits"; readonly code: string | undefined; readonly challenge: string }
  | { readonly kind: "refused"; readonly error: TendonError };

export interface BoardProvisioningDependencies extends ApprovalDependencies {
  readonly admission: Config["devices"]["admission"];
  readonly secret: string;
  readonly store: Store;
  readonly clock: Clock;
  /** Reads the credentials of a device that another node may have changed; `undefined` if this node knows all. */
  readonly refreshCredentials: (deviceId: string) => Promise<void> | undefined;
  /** Failed sign-ins by source; a wrong proof is one. */
  readonly signIns: Throttle;
}

/** The approver of a device that an import admits. */
const approvedByImport = "the list";
const codes = 1_000_000;
const newcomerIntervalMs = 1_000;

export class Provisioning {
  readonly imports: Imports;
  readonly decisions: Decisions;
  readonly #dependencies: BoardProvisioningDependencies;
  readonly #keys: SealedKeys;
  readonly #pairApproval: PairApproval;
  /** Boards that were never seen before, by source. */
  readonly #newcomers: Throttle;

  constructor(dependencies: BoardProvisioningDependencies) {
    this.#dependencies = dependencies;
    this.#newcomers = new Throttle(dependencies.clock, {
      burst: limits.pendingPairsPerSource.max,
      everyMs: newcomerIntervalMs,
    });
    this.#keys = new SealedKeys(dependencies.secret);
    this.#pairApproval = new PairApproval(dependencies);
    this.imports = new Imports(dependencies.store, dependencies.clock, this.#keys);
    this.decisions = new Decisions({ ...dependencies, pairApproval: this.#pairApproval });
  }

  /** Answers a board's request for its settings. */
  async enter(ask: BoardRequest): Promise<Entry> {
    try {
      return await this.#enter(ask);
    } catch (error) {
      // Its status would be 503, after which a board retries ever more rarely and shows nothing.
      if (error instanceof TendonError && error.code === "storage_unavailable")
        return this.#askAgain(error.message);
      throw error;
    }
  }

  async #enter(ask: BoardRequest): Promise<Entry> {
    const { admission } = this.#dependencies;
    const state = await this.#stateOf(ask);
    if (state.kind === "approved") return state;
    if (admission === "closed") return refused(closedDetail);
    if (state.kind === "unknown") {
      if (admission === "open") return await this.#admit(ask);
      if (admission === "list") {
        const imported = await this.#dependencies.store.imports.get(ask.deviceId);
        if (imported === undefined)
          return refused("this device was not imported (`devices.admission` is `list`)");
        if (!needsProof(imported)) return await this.#admit(ask, imported);
      }
    }
    return await this.#wait(ask, state);
  }

  /** Answers a waiting board whether it is approved now [OTA-6]. */
  async activate(ask: BoardRequest, proof: SerialProof | undefined): Promise<boolean> {
    const { admission, credentials, store, signIns } = this.#dependencies;
    const state = await this.#stateOf(ask);
    if (state.kind === "approved") return true;
    if (admission === "closed") throw new TendonError("forbidden", closedDetail);
    const clientId = digest(ask.clientId);
    const pairing = await store.pairings.find(ask.deviceId, clientId.toString("hex"));
    // Its code has expired, or it has none; its next request for settings brings a new one.
    if (pairing === undefined) return false;
    const imported = await store.imports.get(ask.deviceId);
    if (!needsProof(imported)) return false;
    if (!provesSerial(this.#keys, imported, ask, pairing.challenge, proof)) {
      // Above the rate, failures are not written to the storage.
      if (signIns.count(sourceOf(ask.from)) === 0)
        await store.pairings.failed(ask.deviceId, pairing.clientIdHash);
      throw new TendonError("forbidden", "the board did not prove its imported serial number");
    }
    await store.pairings.proved(ask.deviceId, pairing.clientIdHash);
    // A proof admits a board with an unknown id. It never replaces a provisioned board; only a person does that.
    if (admission !== "list" || credentials.stateOf(ask.deviceId, ask.clientId).kind !== "unknown")
      return false;
    await this.#pairApproval.approve(ask.deviceId, clientId, { by: approvedByImport, tags: imported.tags });
    await store.pairings.take(pairing.code);
    return true;
  }

  /** Another node may have approved the pair a moment ago: without this, a board would get other credentials here. */
  async #stateOf({ deviceId, clientId }: BoardRequest): Promise<PairState> {
    const { credentials, refreshCredentials } = this.#dependencies;
    const state = credentials.stateOf(deviceId, clientId);
    if (state.kind === "approved") return state;
    await refreshCredentials(deviceId);
    return credentials.stateOf(deviceId, clientId);
  }

  /** Gives credentials without approval. */
  async #admit(ask: BoardRequest, imported?: ImportedDevice): Promise<Entry> {
    const { credentials, devices } = this.#dependencies;
    try {
      await credentials.approveTemporarily(ask.deviceId, ask.clientId);
      await devices.tagNew(ask.deviceId, imported?.tags ?? []);
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      return this.#askAgain(error.message);
    }
    const state = credentials.stateOf(ask.deviceId, ask.clientId);
    return state.kind === "approved"
      ? state
      : this.#askAgain("another board with this id got credentials first");
  }

  async #wait(ask: BoardRequest, state: PairState): Promise<Entry> {
    const { store, clock, events } = this.#dependencies;
    const { deviceId, board = null, version: firmware = null, serial = null, from = null } = ask;
    const clientIdHash = digest(ask.clientId).toString("hex");
    const before = await store.pairings.find(deviceId, clientIdHash);
    if (before !== undefined) return { kind: "waits", code: before.code, challenge: before.challenge };
    const source = sourceOf(ask.from);
    // A client that invents boards without end must not cause work in the storage.
    if (this.#newcomers.count(source) > 0) return this.#askAgain();
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
    if (pairing === undefined) return this.#askAgain("too many boards are waiting for approval");
    if (pairing.challenge === challenge) {
      const known = state.kind === "unknown" ? "new" : state.kind;
      events.devicePending(deviceId, { board, firmware, from, standing: known });
    }
    return { kind: "waits", code: pairing.code, challenge: pairing.challenge };
  }

  /** [OTA-8] A challenge without a code makes the board ask again; after any other answer it would stop asking. */
  #askAgain(reason?: string): Entry {
    const { events } = this.#dependencies;
    if (reason === undefined) events.connectionThrottled();
    else events.connectionRefused({ code: "rate_limited", reason });
    return { kind: "waits", code: undefined, challenge: newChallenge() };
  }
}

const closedDetail = "this gateway admits no new devices (`devices.admission` is `closed`)";

function newChallenge(): string {
  return randomBytes(16).toString("hex");
}

function refused(why: string): Entry {
  return { kind: "refused", error: new TendonError("forbidden", why) };
}
