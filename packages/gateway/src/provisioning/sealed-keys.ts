import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const ivBytes = 12;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

/**
 * Encrypts keys of boards and other secrets for the database. The key is derived from the gateway's secret and a purpose,
 * and each value is bound to its device. So a copied row, or a row moved to another device, reveals nothing.
 */
export class SealedKeys {
  readonly #key: Buffer;

  constructor(secret: string, purpose = "tendon board keys") {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));
  }

  seal(device: string, key: Buffer): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key, iv).setAAD(Buffer.from(device));
    const sealed = Buffer.concat([cipher.update(key), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** `undefined` if it was sealed with another secret, or for another device. */
  open(device: string, text: string): Buffer | undefined {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.byteLength <= ivBytes + tagBytes) return undefined;
    try {
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, ivBytes))
        .setAAD(Buffer.from(device))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}
