/**
 * Which devices may connect, and with what. A provisioned pair of Device-Id and Client-Id has a token of its own,
 * kept as a hash; the admission policy decides about everybody else.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { normaliseDeviceId } from "@tendon/protocol";
import type { Config } from "../config.ts";
import type { DeviceClaim } from "../device/device.ts";
import { TendonError } from "../errors.ts";

interface Credential {
  readonly clientId: Buffer;
  readonly token: Buffer;
}

export class Credentials {
  readonly #admission: Config["devices"]["admission"];
  readonly #known = new Map<string, Credential>();

  constructor(admission: Config["devices"]["admission"]) {
    this.#admission = admission;
  }

  /** Makes a token for the pair; an earlier one of the same device stops working. */
  provision(id: string, clientId: string): { readonly deviceId: string; readonly token: string } {
    const deviceId = normaliseDeviceId(id);
    if (deviceId === undefined) throw new TendonError("bad_request", "`id` is not a device's id");
    const token = randomBytes(24).toString("base64url");
    this.#known.set(deviceId, { clientId: digest(clientId), token: digest(token) });
    return { deviceId, token };
  }

  admit(claim: DeviceClaim): void {
    const credential = this.#known.get(claim.deviceId);
    if (credential === undefined) {
      if (this.#admission === "open") return;
      throw new TendonError(
        "forbidden",
        "this device is not provisioned here (`devices.admission` is not `open`)",
      );
    }
    const known =
      timingSafeEqual(credential.token, digest(claim.token ?? "")) &&
      timingSafeEqual(credential.clientId, digest(claim.clientId ?? ""));
    if (!known)
      throw new TendonError("unauthenticated", "the device's token or Client-Id is not the provisioned one");
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
