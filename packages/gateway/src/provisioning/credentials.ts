/**
 * Which devices may connect, and with what [DEV-7, MQT-2]. An approved pair of Device-Id and Client-Id has credentials
 * that follow from the pair, a number of its own and a secret of this gateway, so that asking again gives the same
 * ones and nothing that opens a door is stored. Another number makes other credentials: that is how they are revoked.
 * Who is approved, and when, is decided in `provisioning/`.
 */
import { createHmac, hash, randomInt, timingSafeEqual } from "node:crypto";
import { isClientId, limits, makeMqttClientId, normaliseDeviceId, readMqttClientId } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { DeviceClaim, DeviceIdentity } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { ApprovedPair, CredentialPair } from "../fleet/fleet.ts";

export interface DeviceCredentials {
  readonly deviceId: string;
  /** For the WebSocket's Authorization header. */
  readonly token: string;
  readonly mqtt: { readonly clientId: string; readonly username: string; readonly password: string };
}

/** What a device says of itself in MQTT's CONNECT. */
export interface MqttClaim {
  readonly clientId: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** How a board that asks stands here. */
export type Standing =
  | { readonly kind: "approved"; readonly credentials: DeviceCredentials }
  /** Another board has this Device-Id. */
  | { readonly kind: "taken" }
  | { readonly kind: "revoked" }
  | { readonly kind: "unknown" };

export interface Change {
  /** Not what it was before. */
  readonly fresh: boolean;
  /** Credentials that counted before no longer do. */
  readonly replaced: boolean;
  /** Resolves when it is on the disk. */
  readonly written: Promise<void>;
}

const group = "TENDON";
const empty = Buffer.alloc(0);
const unusedForMs = 10 * 60_000;
const mostGenerations = 2 ** 47;

export interface CredentialsNeeds {
  readonly admission: Config["devices"]["admission"];
  readonly secret: string;
  readonly clock: Clock;
  readonly known: ReadonlyMap<string, CredentialPair>;
  /** Keeps the pair, or forgets it. */
  readonly remember: (deviceId: string, pair: CredentialPair | undefined) => Promise<void>;
}

export class Credentials {
  readonly #needs: CredentialsNeeds;
  readonly #known: Map<string, CredentialPair>;
  /** Devices that got credentials by asking and have not used them, the first to lapse first. */
  readonly #unused = new Set<string>();

  constructor(needs: CredentialsNeeds) {
    this.#needs = needs;
    this.#known = new Map(needs.known);
    const lapsing = [...this.#known].flatMap(([id, pair]) =>
      pair.state === "approved" && pair.lapsesAt !== undefined ? [[id, pair.lapsesAt] as const] : [],
    );
    for (const [id] of lapsing.sort(([, one], [, other]) => one - other)) this.#unused.add(id);
  }

  standing(deviceId: string, clientId: string): Standing {
    const known = this.#pairOf(deviceId);
    if (known === undefined) return { kind: "unknown" };
    if (known.state === "revoked") return { kind: "revoked" };
    if (!sameText(known.clientId, clientId)) return { kind: "taken" };
    return { kind: "approved", credentials: this.#credentialsOf(deviceId, clientId, known.generation) };
  }

  /** Whether this is the pair that has the device's credentials. */
  holds(deviceId: string, clientId: Buffer): boolean {
    const known = this.#pairOf(deviceId);
    return known?.state === "approved" && timingSafeEqual(known.clientId, clientId);
  }

  /** Whether the device has credentials that count, and does not merely hold them until they lapse. */
  isApproved(deviceId: string): boolean {
    const known = this.#pairOf(deviceId);
    return known?.state === "approved" && known.lapsesAt === undefined;
  }

  isRevoked(deviceId: string): boolean {
    return this.#pairOf(deviceId)?.state === "revoked";
  }

  /**
   * From now on the pair counts, and another Client-Id of the same device no longer does. Approving it again changes
   * nothing; a pair that was revoked gets new credentials.
   */
  approve(deviceId: string, clientId: Buffer): Change {
    const known = this.#pairOf(deviceId);
    const same = this.holds(deviceId, clientId);
    const generation = same && known?.state === "approved" ? known.generation : newGeneration();
    const replaced = !same && known?.state === "approved" && known.lapsesAt === undefined;
    const written = this.#keep(deviceId, { state: "approved", clientId, generation, lapsesAt: undefined });
    return { fresh: !same, replaced, written };
  }

  /** Makes, or makes again, the pair's credentials. Somebody wants this device here: they do not lapse. */
  provision(id: string, clientId: string): Change & { readonly credentials: DeviceCredentials } {
    const deviceId = normaliseDeviceId(id);
    if (deviceId === undefined) throw new TendonError("bad_request", "`id` is not a device's id");
    if (!isClientId(clientId)) throw new TendonError("bad_request", "`clientId` is not a client's id");
    const change = this.approve(deviceId, digest(clientId));
    const standing = this.standing(deviceId, clientId);
    if (standing.kind !== "approved") throw notProvisioned();
    return { ...change, credentials: standing.credentials };
  }

  /** A pair that gets credentials for the asking, unless another was faster; they lapse unless used [OTA-2]. */
  async approveUnasked(deviceId: string, clientId: string): Promise<void> {
    if (this.#pairOf(deviceId) !== undefined) return;
    this.#makeRoom();
    const lapsesAt = this.#needs.clock.now() + unusedForMs;
    const pair = { clientId: digest(clientId), generation: newGeneration(), lapsesAt };
    await this.#keep(deviceId, { state: "approved", ...pair });
  }

  /** What the device holds no longer counts, and asking alone brings nothing back. */
  revoke(deviceId: string): Promise<void> {
    const known = this.#pairOf(deviceId);
    return this.#keep(deviceId, { state: "revoked", clientId: known?.clientId });
  }

  /** The Client-Id a revoked device had, as a digest. */
  revokedPair(deviceId: string): Buffer | undefined {
    const known = this.#pairOf(deviceId);
    return known?.state === "revoked" ? known.clientId : undefined;
  }

  /** Another node has changed them. Says whether a device that is connected here with the old ones must go. */
  learnChange(
    deviceId: string,
    before: CredentialPair | undefined,
    now: CredentialPair | undefined,
  ): boolean {
    this.learn(deviceId, now);
    // Where admission is open, a device may be connected without credentials; it goes when it is revoked, too.
    return now?.state === "revoked" || (before !== undefined && !this.#same(before, now));
  }

  /** Whether a board that was admitted by the one would be admitted by the other. */
  #same(one: CredentialPair, other: CredentialPair | undefined): boolean {
    if (one.state !== other?.state || one.clientId?.equals(other.clientId ?? empty) !== true) return false;
    return one.state === "revoked" || other.state === "revoked" || one.generation === other.generation;
  }

  /** What another node has decided about this device. */
  learn(deviceId: string, pair: CredentialPair | undefined): void {
    this.#unused.delete(deviceId);
    if (pair === undefined) this.#known.delete(deviceId);
    else this.#known.set(deviceId, pair);
  }

  /** The device is to be forgotten: what it holds no longer counts, unless it is provisioned anew. */
  forget(deviceId: string): void {
    this.#unused.delete(deviceId);
    this.#known.delete(deviceId);
  }

  admit({ deviceId, clientId, token }: DeviceClaim): void {
    const known = this.#pairOf(deviceId);
    if (known === undefined) {
      if (this.#needs.admission === "open") return;
      throw notProvisioned();
    }
    if (known.state === "revoked") throw revoked();
    if (clientId === undefined || !this.#proves("websocket", deviceId, clientId, known, token)) {
      throw new TendonError("unauthenticated", "the device's token or Client-Id is not the provisioned one");
    }
    this.#used(deviceId, known);
  }

  /** Over MQTT there is no way in without credentials, whatever the policy. */
  admitMqtt(claim: MqttClaim): DeviceIdentity {
    const identity = readMqttClientId(claim.clientId);
    if (identity === undefined || identity.group !== group) {
      throw new TendonError("unauthenticated", "the client id is not one of ours");
    }
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    const proven =
      known?.state === "approved" &&
      this.#proves("mqtt", deviceId, clientId, known, claim.password) &&
      claim.username === deviceId &&
      claim.clientId === makeMqttClientId(identity);
    if (!proven) throw new TendonError("unauthenticated", "user name or password is not the provisioned one");
    this.#used(deviceId, known);
    return { deviceId, clientId };
  }

  /** On an outside broker the topic says who it is, and the broker's own rules have seen to it that this is true. */
  admitTopic(mqttClientId: string): DeviceIdentity {
    const identity = readMqttClientId(mqttClientId);
    if (identity === undefined)
      throw new TendonError("unauthenticated", "the topic does not end in a client id of a device");
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    if (known === undefined) {
      if (this.#needs.admission !== "open") throw notProvisioned();
      return { deviceId, clientId };
    }
    if (known.state === "revoked") throw revoked();
    if (!sameText(known.clientId, clientId)) throw notProvisioned();
    this.#used(deviceId, known);
    return { deviceId, clientId };
  }

  /** Whether it would be let in. */
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

  #token(door: "websocket" | "mqtt", deviceId: string, clientId: string, generation: number): string {
    return createHmac("sha256", this.#needs.secret)
      .update([door, deviceId, clientId, generation].join("\u0000"))
      .digest("base64url");
  }

  #proves(
    door: "websocket" | "mqtt",
    deviceId: string,
    clientId: string,
    known: ApprovedPair,
    token: string | undefined,
  ): boolean {
    const right = digest(this.#token(door, deviceId, clientId, known.generation));
    return sameText(right, token ?? "") && sameText(known.clientId, clientId);
  }

  #pairOf(deviceId: string): CredentialPair | undefined {
    const known = this.#known.get(deviceId);
    if (known?.state !== "approved") return known;
    if (known.lapsesAt === undefined || known.lapsesAt > this.#needs.clock.now()) return known;
    this.#known.delete(deviceId);
    void this.#needs.remember(deviceId, undefined);
    return undefined;
  }

  #used(deviceId: string, known: ApprovedPair): void {
    if (known.lapsesAt !== undefined) void this.#keep(deviceId, { ...known, lapsesAt: undefined });
  }

  /** Whoever can ask can ask in any name: what nobody has used yet is bounded [OTA-2]. */
  #makeRoom(): void {
    for (const deviceId of this.#unused) {
      const known = this.#pairOf(deviceId);
      if (known?.state === "approved" && known.lapsesAt !== undefined) break;
      this.#unused.delete(deviceId);
    }
    if (this.#unused.size < limits.unusedCredentials.max) return;
    throw new TendonError(
      limits.unusedCredentials.error,
      "too many devices have settings and have not come yet",
    );
  }

  #keep(deviceId: string, pair: CredentialPair): Promise<void> {
    this.#unused.delete(deviceId);
    if (pair.state === "approved" && pair.lapsesAt !== undefined) this.#unused.add(deviceId);
    this.#known.set(deviceId, pair);
    return this.#needs.remember(deviceId, pair);
  }
}

/** By chance, not by counting: a device that was forgotten and comes again must not get its old credentials back. */
function newGeneration(): number {
  return randomInt(1, mostGenerations);
}

function notProvisioned(): TendonError {
  return new TendonError(
    "forbidden",
    "this device is not provisioned here (`devices.admission` is not `open`)",
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
