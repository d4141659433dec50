import { createHmac, timingSafeEqual } from "node:crypto";
import type { ImportedDevice } from "../store/store.ts";
import type { BoardRequest, SerialProof } from "./ota.ts";
import type { SealedKeys } from "./sealed-keys.ts";

/** A board must prove its serial number if it was imported with one. */
export function needsProof(imported: ImportedDevice | undefined): imported is ImportedDevice {
  return imported !== undefined && (imported.serial !== undefined || imported.sealedKey !== undefined);
}

/**
 * [OTA-7] Whether the board proves its serial number: by an HMAC of its challenge with the key in its fuses. If the
 * import has a serial number without a key, the number alone is enough.
 */
export function provesSerial(
  keys: SealedKeys,
  imported: ImportedDevice,
  ask: BoardRequest,
  challenge: string,
  proof: SerialProof | undefined,
): boolean {
  if (imported.sealedKey === undefined) return ask.serial === imported.serial;
  const key = keys.open(imported.device, imported.sealedKey);
  if (key === undefined || proof === undefined) return false;
  if (proof.algorithm !== "hmac-sha256" || proof.serial !== imported.serial) return false;
  // Only a proof for the gateway's own challenge is valid.
  return proof.challenge === challenge && isHmac(key, challenge, proof.hmac);
}

function isHmac(key: Buffer, challenge: string, hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(createHmac("sha256", key).update(challenge).digest(), Buffer.from(hex, "hex"));
}
