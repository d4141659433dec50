/**
 * The credentials of devices [DEV-7, MQT-2]. Those of an approved pair are derived from the pair, its generation number
 * and the gateway's secret. So the same request gives the same credentials, and the storage has none. A new generation
 * revokes the old credentials. `Decisions` and `Provisioning` decide which pairs are approved.
 */
import { createHmac, hash, randomInt, timingSafeEqual } from "node:crypto";
import { isClientId, limits, makeMqttClientId, normaliseDeviceId, readMqttClientId } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { DeviceClaim, DeviceIdentity } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import { type ApprovedPair, type CredentialPair, pinnedGeneration } from "../fleet/fleet.ts";

export interface DeviceCredentials {
  readonly deviceId: string;
  /** For the WebSocket's Authorization header. */
  readonly token: string;
  readonly mqtt: { readonly clientId: string; readonly username: string; readonly password: string };
}

/** What a device sends in MQTT's CONNECT. */
export interface MqttClaim {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** The state of a credential pair. */
export type PairState =
  | { readonly kind: "approved"; readonly credentials: DeviceCredentials }
  /** Another board has this Device-Id. */
  | { readonly kind: "taken" }
  | { readonly kind: "revoked" }
  | { readonly kind: "unknown" };

export interface Change {
  /** The pair was not approved before. */
  readonly fresh: boolean;
  /** Another pair of this device was approved before, and its credentials are revoked now. */
  readonly replaced: boolean;
  /** Resolves when the change is stored. */
  readonly written: Promise<void>;
}

const group = "TENDON";
const empty = Buffer.alloc(0);
const unusedLifetimeMs = 10 * 60_000;
const maxGeneration = 2 ** 47;

export interface CredentialsDependencies {
  readonly admission: Config["devices"]["admission"];
  readonly secret: string;
  readonly clock: Clock;
  readonly known: ReadonlyMap<string, CredentialPair>;
  /** Stores the pair; `undefined` deletes it. */
  readonly remember: (deviceId: string, pair: CredentialPair | undefined) => Promise<void>;
  /** Stores the pair of a device that is coming online, a new device's with its first tool list. */
  readonly pin: (deviceId: string, pair: ApprovedPair) => void;
}

export class Credentials {
  readonly #dependencies: CredentialsDependencies;
  readonly #known: Map<string, CredentialPair>;
  /** Devices that got credentials without approval and have not used them; the first to expire comes first. */
  readonly #unused = new Set<string>();

  constructor(dependencies: CredentialsDependencies) {
    this.#dependencies = dependencies;
    this.#known = new Map(dependencies.known);
    const expiring = [...this.#known].flatMap(([id, pair]) =>
      pair.state === "approved" && pair.lapsesAt !== undefined ? [[id, pair.lapsesAt] as const] : [],
    );
    for (const [id] of expiring.sort(([, one], [, other]) => one - other)) this.#unused.add(id);
  }

  stateOf(deviceId: string, clientId: string): PairState {
    const known = this.#pairOf(deviceId);
    if (known === undefined) return { kind: "unknown" };
    if (known.state === "revoked") return { kind: "revoked" };
    if (!sameText(known.clientId, clientId)) return { kind: "taken" };
    if (known.generation === pinnedGeneration) return { kind: "unknown" };
    return { kind: "approved", credentials: this.#credentialsOf(deviceId, clientId, known.generation) };
  }

  /** Whether this is the pair that has the device's credentials. */
  isCurrentPair(deviceId: string, clientId: Buffer): boolean {
    const known = this.#pairOf(deviceId);
    return known?.state === "approved" && timingSafeEqual(known.clientId, clientId);
  }

  /** Whether the device has credentials that do not expire. */
  isApproved(deviceId: string): boolean {
    const known = this.#pairOf(deviceId);
    return known?.state === "approved" && known.lapsesAt === undefined;
  }

  isRevoked(deviceId: string): boolean {
    return this.#pairOf(deviceId)?.state === "revoked";
  }

  /**
   * Approves the pair, and revokes another Client-Id of the same device. Approving it again changes nothing; a revoked
   * pair gets new credentials.
   */
  approve(deviceId: string, clientId: Buffer): Change {
    const known = this.#pairOf(deviceId);
    const same = this.isCurrentPair(deviceId, clientId);
    const kept = same && known?.state === "approved" && known.generation !== pinnedGeneration;
    const generation = kept ? known.generation : newGeneration();
    const replaced = !same && known?.state === "approved" && known.lapsesAt === undefined;
    const written = this.#keep(deviceId, { state: "approved", clientId, generation, lapsesAt: undefined });
    return { fresh: !same, replaced, written };
  }

  /** Returns the pair's credentials and approves the pair. They do not expire, because an operator requested them. */
  provision(id: string, clientId: string): Change & { readonly credentials: DeviceCredentials } {
    const deviceId = normaliseDeviceId(id);
    if (deviceId === undefined) throw new TendonError("bad_request", "`id` is not a valid device id");
    if (!isClientId(clientId)) throw new TendonError("bad_request", "`clientId` is not a valid Client-Id");
    const change = this.approve(deviceId, digest(clientId));
    const state = this.stateOf(deviceId, clientId);
    if (state.kind !== "approved") throw notProvisioned();
    return { ...change, credentials: state.credentials };
  }

  /** Gives a pair credentials without approval, unless the device has some already. Unused ones expire [OTA-2]. */
  async approveTemporarily(deviceId: string, clientId: string): Promise<void> {
    if (this.stateOf(deviceId, clientId).kind !== "unknown") return;
    this.#boundUnused();
    const lapsesAt = this.#dependencies.clock.now() + unusedLifetimeMs;
    const pair = { clientId: digest(clientId), generation: newGeneration(), lapsesAt };
    await this.#keep(deviceId, { state: "approved", ...pair });
  }

  /** Revokes the device's credentials. Only an approval gives it new ones. */
  revoke(deviceId: string): Promise<void> {
    const known = this.#pairOf(deviceId);
    return this.#keep(deviceId, { state: "revoked", clientId: known?.clientId });
  }

  /** The digest of a revoked device's Client-Id. */
  revokedPair(deviceId: string): Buffer | undefined {
    const known = this.#pairOf(deviceId);
    return known?.state === "revoked" ? known.clientId : undefined;
  }

  /** Applies a change of another node. Returns whether a device that is connected here must be disconnected. */
  applyChange(
    deviceId: string,
    before: CredentialPair | undefined,
    now: CredentialPair | undefined,
  ): boolean {
    this.apply(deviceId, now);
    // With open admission a device may be connected without credentials; a revocation disconnects it too.
    return now?.state === "revoked" || (before !== undefined && !this.#same(before, now));
  }

  /** Whether both pairs admit the same credentials. */
  #same(one: CredentialPair, other: CredentialPair | undefined): boolean {
    if (one.state !== other?.state || one.clientId?.equals(other.clientId ?? empty) !== true) return false;
    return one.state === "revoked" || other.state === "revoked" || one.generation === other.generation;
  }

  /** Applies the pair that another node has stored for this device. */
  apply(deviceId: string, pair: CredentialPair | undefined): void {
    this.#unused.delete(deviceId);
    if (pair === undefined) this.#known.delete(deviceId);
    else this.#known.set(deviceId, pair);
  }

  /** Removes the device's pair: its credentials are no longer valid. */
  forget(deviceId: string): void {
    this.#unused.delete(deviceId);
    this.#known.delete(deviceId);
  }

  admit({ deviceId, clientId, token }: DeviceClaim): void {
    const known = this.#pairOf(deviceId);
    if (known === undefined) {
      if (this.#dependencies.admission === "open") return;
      throw notProvisioned();
    }
    if (known.state === "revoked") throw revoked();
    if (known.generation === pinnedGeneration) {
      if (!sameText(known.clientId, clientId ?? "")) throw pinned();
      return;
    }
    if (clientId === undefined || !this.#proves("websocket", deviceId, clientId, known, token)) {
      throw new TendonError("unauthenticated", "the device's token or Client-Id is not the provisioned one");
    }
    this.#used(deviceId, known);
  }

  /**
   * A board has sent its hello. Open admission pins its Client-Id if it has no credentials. Returns false if another board
   * was faster.
   */
  confirm({ deviceId, clientId = "" }: DeviceIdentity): boolean {
    if (this.#dependencies.admission !== "open") return true;
    const known = this.#pairOf(deviceId);
    if (known?.state === "revoked") return false;
    if (known !== undefined)
      return known.generation !== pinnedGeneration || sameText(known.clientId, clientId);
    const pair = { clientId: digest(clientId), generation: pinnedGeneration, lapsesAt: undefined };
    this.#known.set(deviceId, { state: "approved", ...pair });
    this.#dependencies.pin(deviceId, { state: "approved", ...pair });
    return true;
  }

  /** MQTT needs credentials with every admission policy. */
  admitMqtt(claim: MqttClaim): DeviceIdentity {
    const identity = readMqttClientId(claim.clientId);
    if (identity === undefined || identity.group !== group) {
      throw new TendonError("unauthenticated", "the MQTT client id is not one that this gateway gives");
    }
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    const proven =
      known?.state === "approved" &&
      known.generation !== pinnedGeneration &&
      this.#proves("mqtt", deviceId, clientId, known, claim.password) &&
      claim.username === deviceId &&
      claim.clientId === makeMqttClientId(identity);
    if (!proven) throw new TendonError("unauthenticated", "user name or password is not the provisioned one");
    this.#used(deviceId, known);
    return { deviceId, clientId };
  }

  /** On an outside broker the topic identifies the device, and the broker's ACL guarantees that it is true. */
  admitTopic(mqttClientId: string): DeviceIdentity {
    const identity = readMqttClientId(mqttClientId);
    if (identity === undefined)
      throw new TendonError("unauthenticated", "the topic does not end in the MQTT client id of a device");
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    if (known === undefined) {
      if (this.#dependencies.admission !== "open") throw notProvisioned();
      return { deviceId, clientId };
    }
    if (known.state === "revoked") throw revoked();
    if (!sameText(known.clientId, clientId)) throw notProvisioned();
    this.#used(deviceId, known);
    return { deviceId, clientId };
  }

  admitsTopic(mqttClientId: string): boolean {
    try {
      this.admitTopic(mqttClientId);
      return true;
    } catch {
      return false;
    }
  }

  #credentialsOf(deviceId: string, clientId: string, generation: number): DeviceCredentials {
    return {
      deviceId,
      token: this.#token("websocket", deviceId, clientId, generation),
      mqtt: {
        clientId: makeMqttClientId({ group, deviceId, clientId }),
        username: deviceId,
        password: this.#token("mqtt", deviceId, clientId, generation),
      },
    };
  }

  #token(transport: "websocket" | "mqtt", deviceId: string, clientId: string, generation: number): string {
    return createHmac("sha256", this.#dependencies.secret)
      .update([transport, deviceId, clientId, generation].join("\u0000"))
      .digest("base64url");
  }

  #proves(
    transport: "websocket" | "mqtt",
    deviceId: string,
    clientId: string,
    known: ApprovedPair,
    token: string | undefined,
  ): boolean {
    const right = Buffer.from(this.#token(transport, deviceId, clientId, known.generation));
    const given = Buffer.from(token ?? "");
    // The length of a token is no secret.
    return (
      given.byteLength === right.byteLength &&
      timingSafeEqual(given, right) &&
      sameText(known.clientId, clientId)
    );
  }

  #pairOf(deviceId: string): CredentialPair | undefined {
    const known = this.#known.get(deviceId);
    if (known?.state !== "approved") return known;
    // After a change of the policy, a board without credentials counts as new.
    if (known.generation === pinnedGeneration && this.#dependencies.admission !== "open") return undefined;
    if (known.lapsesAt === undefined || known.lapsesAt > this.#dependencies.clock.now()) return known;
    this.#known.delete(deviceId);
    void this.#dependencies.remember(deviceId, undefined);
    return undefined;
  }

  #used(deviceId: string, known: ApprovedPair): void {
    if (known.lapsesAt === undefined) return;
    const pair = { ...known, lapsesAt: undefined };
    this.#unused.delete(deviceId);
    this.#known.set(deviceId, pair);
    this.#dependencies.pin(deviceId, pair);
  }

  /** A client can ask under any id, so the number of unused credentials is bounded [OTA-2]. */
  #boundUnused(): void {
    for (const deviceId of this.#unused) {
      const known = this.#pairOf(deviceId);
      if (known?.state === "approved" && known.lapsesAt !== undefined) break;
      this.#unused.delete(deviceId);
    }
    if (this.#unused.size < limits.unusedCredentials.max) return;
    throw new TendonError(
      limits.unusedCredentials.error,
      "too many devices have credentials and have not connected yet",
    );
  }

  #keep(deviceId: string, pair: CredentialPair): Promise<void> {
    this.#unused.delete(deviceId);
    if (pair.state === "approved" && pair.lapsesAt !== undefined) this.#unused.add(deviceId);
    this.#known.set(deviceId, pair);
    return this.#dependencies.remember(deviceId, pair);
  }
}

/** Random, so that a device that was deleted and comes again does not get its old credentials. */
function newGeneration(): number {
  return randomInt(1, maxGeneration);
}

function notProvisioned(): TendonError {
  return new TendonError("forbidden", "this device is not provisioned (`devices.admission` is not `open`)");
}

function pinned(): TendonError {
  return new TendonError(
    "unauthenticated",
    "another board joined with this Device-Id first; approve this board's code, or delete the device, to replace it",
  );
}

function revoked(): TendonError {
  return new TendonError("unauthenticated", "the device's credentials were revoked");
}

export function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

function sameText(known: Buffer, text: string): boolean {
  return timingSafeEqual(known, digest(text));
}
