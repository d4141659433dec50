/**
 * Which devices may connect, and with what [DEV-7, MQT-2]. A provisioned pair of Device-Id and Client-Id has
 * credentials that follow from the pair and a secret of this gateway, so that asking again gives the same ones and
 * nothing that opens a door is stored. The admission policy decides about everybody else.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { limits, makeMqttClientId, normaliseDeviceId, readMqttClientId } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { DeviceClaim, DeviceIdentity } from "../device/device.ts";
import { TendonError } from "../errors.ts";

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

/** A pair that has credentials, as it is kept. */
export interface KnownPair {
  /** A digest of the Client-Id: the Client-Id itself opens doors. */
  readonly clientId: Buffer;
  /** Credentials nobody has used lapse, so that a name cannot be reserved for ever by asking for it. */
  readonly lapsesAt: number | undefined;
}

const group = "TENDON";
const unusedForMs = 10 * 60_000;

export interface CredentialsNeeds {
  readonly admission: Config["devices"]["admission"];
  readonly secret: string;
  readonly clock: Clock;
  readonly known: ReadonlyMap<string, KnownPair>;
  /** Keeps the pair, or forgets it. */
  readonly remember: (deviceId: string, pair: KnownPair | undefined) => void;
}

export class Credentials {
  readonly #admission: Config["devices"]["admission"];
  readonly #secret: string;
  readonly #clock: Clock;
  readonly #known: Map<string, KnownPair>;
  readonly #remember: CredentialsNeeds["remember"];
  /** Devices that got credentials by asking and have not used them, the first to lapse first. */
  readonly #unused = new Set<string>();

  constructor(needs: CredentialsNeeds) {
    this.#admission = needs.admission;
    this.#secret = needs.secret;
    this.#clock = needs.clock;
    this.#known = new Map(needs.known);
    this.#remember = needs.remember;
  }

  /**
   * Makes, or makes again, the pair's credentials; another Client-Id of the same device no longer counts. Somebody
   * wants this device here: they do not lapse.
   */
  provision(id: string, clientId: string): DeviceCredentials {
    const deviceId = normaliseDeviceId(id);
    if (deviceId === undefined) throw new TendonError("bad_request", "`id` is not a device's id");
    this.#keep(deviceId, { clientId: digest(clientId), lapsesAt: undefined });
    return this.#credentialsOf(deviceId, clientId);
  }

  /** A device that asks for its settings by itself [OTA-2]. */
  provisionUnasked(deviceId: string, clientId: string): DeviceCredentials {
    const known = this.#pairOf(deviceId);
    if (known !== undefined && !sameText(known.clientId, clientId)) {
      throw new TendonError("forbidden", "another board is known under this Device-Id");
    }
    if (known === undefined && this.#admission !== "open") throw notProvisioned();
    if (known === undefined) {
      this.#makeRoom();
      this.#keep(deviceId, { clientId: digest(clientId), lapsesAt: this.#clock.now() + unusedForMs });
    }
    return this.#credentialsOf(deviceId, clientId);
  }

  /** The device is to be forgotten: what it holds no longer counts, unless it is provisioned anew. */
  forget(deviceId: string): void {
    this.#unused.delete(deviceId);
    this.#known.delete(deviceId);
  }

  admit({ deviceId, clientId, token }: DeviceClaim): void {
    const known = this.#pairOf(deviceId);
    if (known === undefined) {
      if (this.#admission === "open") return;
      throw notProvisioned();
    }
    const proven = this.#proves("websocket", deviceId, clientId, token);
    if (!proven || !sameText(known.clientId, clientId ?? "")) {
      throw new TendonError("unauthenticated", "the device's token or Client-Id is not the provisioned one");
    }
    this.#used(deviceId, clientId ?? "");
  }

  /** Over MQTT there is no way in without credentials, whatever the policy. */
  admitMqtt(claim: MqttClaim): DeviceIdentity {
    const identity = readMqttClientId(claim.clientId);
    if (identity === undefined || identity.group !== group) {
      throw new TendonError("unauthenticated", "the client id is not one of ours");
    }
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    const proven = this.#proves("mqtt", deviceId, clientId, claim.password) && claim.username === deviceId;
    if (known === undefined || !proven || !sameText(known.clientId, clientId)) {
      throw new TendonError("unauthenticated", "user name or password is not the provisioned one");
    }
    this.#used(deviceId, clientId);
    return { deviceId, clientId };
  }

  /** On an outside broker the topic says who it is, and the broker's own rules have seen to it that this is true. */
  admitTopic(mqttClientId: string): DeviceIdentity {
    const identity = readMqttClientId(mqttClientId);
    if (identity === undefined)
      throw new TendonError("unauthenticated", "the topic does not end in a client id of a device");
    const { deviceId, clientId } = identity;
    const known = this.#pairOf(deviceId);
    if (known === undefined ? this.#admission !== "open" : !sameText(known.clientId, clientId))
      throw notProvisioned();
    this.#used(deviceId, clientId);
    return { deviceId, clientId };
  }

  #credentialsOf(deviceId: string, clientId: string): DeviceCredentials {
    return {
      deviceId,
      token: this.#token("websocket", deviceId, clientId),
      mqtt: {
        clientId: makeMqttClientId({ group, deviceId, clientId }),
        username: deviceId,
        password: this.#token("mqtt", deviceId, clientId),
      },
    };
  }

  #token(door: "websocket" | "mqtt", deviceId: string, clientId: string): string {
    return createHmac("sha256", this.#secret)
      .update([door, deviceId, clientId].join("\u0000"))
      .digest("base64url");
  }

  #proves(
    door: "websocket" | "mqtt",
    deviceId: string,
    clientId: string | undefined,
    token: string | undefined,
  ): boolean {
    return clientId !== undefined && sameText(digest(this.#token(door, deviceId, clientId)), token ?? "");
  }

  #pairOf(deviceId: string): KnownPair | undefined {
    const known = this.#known.get(deviceId);
    if (known?.lapsesAt === undefined || known.lapsesAt > this.#clock.now()) return known;
    this.#known.delete(deviceId);
    this.#remember(deviceId, undefined);
    return undefined;
  }

  #used(deviceId: string, clientId: string): void {
    const known = this.#known.get(deviceId);
    if (known !== undefined && known.lapsesAt === undefined) return;
    this.#keep(deviceId, { clientId: digest(clientId), lapsesAt: undefined });
  }

  /** Whoever can ask can ask in any name: what nobody has used yet is bounded [OTA-2]. */
  #makeRoom(): void {
    for (const deviceId of this.#unused) {
      if (this.#pairOf(deviceId)?.lapsesAt !== undefined) break;
      this.#unused.delete(deviceId);
    }
    if (this.#unused.size < limits.unusedCredentials.max) return;
    throw new TendonError(
      limits.unusedCredentials.error,
      "too many devices have settings and have not come yet",
    );
  }

  #keep(deviceId: string, pair: KnownPair): void {
    this.#unused.delete(deviceId);
    if (pair.lapsesAt !== undefined) this.#unused.add(deviceId);
    this.#known.set(deviceId, pair);
    this.#remember(deviceId, pair);
  }
}

function notProvisioned(): TendonError {
  return new TendonError(
    "forbidden",
    "this device is not provisioned here (`devices.admission` is not `open`)",
  );
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

function sameText(known: Buffer, text: string): boolean {
  return timingSafeEqual(known, digest(text));
}
