import { createHmac, timingSafeEqual } from "node:crypto";
import type { ImportedDevice } from "../store/store.ts";
import type { BoardAsk, SerialProof } from "./ota.ts";
import type { SealedKeys } from "./sealed-keys.ts";

/** Where the list names a serial number, a board has to be the one that carries it. */
export function needsProof(imported: ImportedDevice | undefined): imported is ImportedDevice {
  return imported !== undefined && (imported.serial !== undefined || imported.sealedKey !== undefined);
}

/**
 * [OTA-7] Whether a board is the one of its serial number: the challenge it was given, under the key that was burnt
 * into it. Where the list has a serial number without a key, the number alone has to do.
 */
export function provesSerial(
  keys: SealedKeys,
  imported: ImportedDevice,
  ask: BoardAsk,
  challenge: string,
  proof: SerialProof | undefined,
): boolean {
  if (imported.sealedKey === undefined) return ask.serial === imported.serial;
  const key = keys.open(imported.device, imported.sealedKey);
  if (key === undefined || proof === undefined) return false;
  if (proof.algorithm !== "hmac-sha256" || proof.serial !== imported.serial) return false;
  // The challenge it names is not asked for: only an answer to ours counts.
  return proof.challenge === challenge && isHmac(key, challenge, proof.hmac);
}

function isHmac(key: Buffer, challenge: string, hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(createHmac("sha256", key).update(challenge).digest(), Buffer.from(hex, "hex"));
}
