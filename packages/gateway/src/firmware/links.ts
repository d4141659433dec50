/**
 * Addresses of images, each for one device and for a while [FWU-4]. The firmware fetches with a bare GET: whatever
 * says who may have the image has to be in the path. It is one word of letters, digits, `-` and `_`, because the
 * firmware's reader of addresses stumbles over more than that.
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
const shortest = timeBytes + idBytes + 1 + signatureBytes;
const longestWord = 256;

export class FirmwareLinks {
  readonly #key: Buffer;
  readonly #clock: Clock;

  constructor(secret: string, clock: Clock) {
    // A key of its own: what signs addresses must be of no use anywhere else.
    this.#key = createHmac("sha256", secret).update("firmware addresses").digest();
    this.#clock = clock;
  }

  make({ image, device }: LinkTarget): string {
    const expires = Buffer.alloc(timeBytes);
    expires.writeUIntBE(this.#clock.now() + firmwareLimits.linkMs.max, 0, timeBytes);
    const id = Buffer.from(image.replaceAll("-", ""), "hex");
    const said = Buffer.concat([expires, id, Buffer.from(device)]);
    return Buffer.concat([said, this.#sign(said)]).toString("base64url");
  }

  /** `undefined` for anything that is not a valid address now; why is nobody's business. */
  read(word: string): LinkTarget | undefined {
    if (word.length > longestWord) return undefined;
    const bytes = Buffer.from(word, "base64url");
    // Spelt in another way it would be the same address twice.
    if (bytes.length < shortest || bytes.toString("base64url") !== word) return undefined;
    const said = bytes.subarray(0, -signatureBytes);
    if (!timingSafeEqual(this.#sign(said), bytes.subarray(-signatureBytes))) return undefined;
    if (said.readUIntBE(0, timeBytes) <= this.#clock.now()) return undefined;
    const id = said.subarray(timeBytes, timeBytes + idBytes).toString("hex");
    return {
      image: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
      device: said.subarray(timeBytes + idBytes).toString(),
    };
  }

  #sign(said: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(said).digest().subarray(0, signatureBytes);
  }
}
