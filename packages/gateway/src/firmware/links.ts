/**
 * Signed download tokens, each for one device and a limited time [FWU-4]. The firmware sends a GET without headers, so
 * the path contains the authorisation. The token has only letters, digits, `-` and `_`, because the firmware's URL
 * parser fails on other characters.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { firmwareLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";

export interface LinkTarget {
  readonly image: string;
  readonly device: string;
}

const timeBytes = 6;
const idBytes = 16;
const signatureBytes = 16;
const minBytes = timeBytes + idBytes + 1 + signatureBytes;
const maxTokenLength = 256;

export class FirmwareLinks {
  readonly #key: Buffer;
  readonly #clock: Clock;

  constructor(secret: string, clock: Clock) {
    // A derived key, so that a signature is useless for other purposes.
    this.#key = createHmac("sha256", secret).update("firmware addresses").digest();
    this.#clock = clock;
  }

  make({ image, device }: LinkTarget): string {
    const expires = Buffer.alloc(timeBytes);
    expires.writeUIntBE(this.#clock.now() + firmwareLimits.linkMs.max, 0, timeBytes);
    const id = Buffer.from(image.replaceAll("-", ""), "hex");
    const payload = Buffer.concat([expires, id, Buffer.from(device)]);
    return Buffer.concat([payload, this.#sign(payload)]).toString("base64url");
  }

  /** `undefined` for an invalid or expired token, without a reason. */
  read(token: string): LinkTarget | undefined {
    if (token.length > maxTokenLength) return undefined;
    const bytes = Buffer.from(token, "base64url");
    // Rejects other encodings of the same bytes.
    if (bytes.length < minBytes || bytes.toString("base64url") !== token) return undefined;
    const payload = bytes.subarray(0, -signatureBytes);
    if (!timingSafeEqual(this.#sign(payload), bytes.subarray(-signatureBytes))) return undefined;
    if (payload.readUIntBE(0, timeBytes) <= this.#clock.now()) return undefined;
    const id = payload.subarray(timeBytes, timeBytes + idBytes).toString("hex");
    return {
      image: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
      device: payload.subarray(timeBytes + idBytes).toString(),
    };
  }

  #sign(payload: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(payload).digest().subarray(0, signatureBytes);
  }
}
