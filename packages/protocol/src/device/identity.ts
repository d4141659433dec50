import { limits } from "../limits.ts";

const MAC = /^[0-9a-f]{2}([:_-]?[0-9a-f]{2}){5}$/i;
const OTHER_ID = /^[a-z0-9][a-z0-9:._-]*$/i;

/**
 * [DEV-6] A device's id as everybody sees it: a MAC address becomes lower-case with colons, however it was written;
 * other ids stay as they are. `undefined` stands for text that cannot be an id.
 */
export function normaliseDeviceId(text: string): string | undefined {
  const id = text.trim();
  if (id.length === 0 || id.length > limits.deviceIdLength.max) return undefined;
  if (MAC.test(id)) {
    const digits = id.toLowerCase().replaceAll(/[^0-9a-f]/g, "");
    return digits.match(/../g)?.join(":");
  }
  return OTHER_ID.test(id) ? id : undefined;
}

/** What the parts of a client id over MQTT are parted by [MQT-1]. */
export const clientIdMark = "@@@";

/** Client-Id is a secret that names the board's memory; only its form is checked here. */
export function isClientId(text: string): boolean {
  if (text.length === 0 || text.length > limits.clientIdLength.max) return false;
  return /^[\x21-\x7e]+$/.test(text) && !text.includes(clientIdMark);
}
