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

export function isMacAddress(text: string): boolean {
  return MAC.test(text.trim());
}

const hexPair = /^[0-9a-f]{2}$/i;
const hexDigit = /[0-9a-f]/i;
const macGroups = 6;
const macDigits = 12;
/** So much of a MAC address makes a text one with a mistake in it; with less it is an id of its own. */
const soundGroups = 4;
const soundDigits = 10;

/**
 * [PRV-6] What is wrong with an id that was meant to be a MAC address; `undefined` for a MAC address and for ids that do
 * not look like one. A device may have any id, so this is for ids that people type: a mistyped one never connects.
 */
export function macMistake(text: string): string | undefined {
  const id = text.trim();
  if (id.length > limits.deviceIdLength.max || MAC.test(id)) return undefined;
  if (/^[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}$/i.test(id))
    return "is written with dots: write it as aa:bb:cc:dd:ee:ff";
  const groups = id.split(/[:_-]/);
  return groups.length === 1 ? mistakenDigits(id) : mistakenGroups(groups);
}

function mistakenGroups(groups: readonly string[]): string | undefined {
  const short = groups.every((group) => /^[0-9a-z]{0,3}$/i.test(group));
  if (!short || Math.abs(groups.length - macGroups) > 1) return undefined;
  if (groups.filter((group) => hexPair.test(group)).length < soundGroups) return undefined;
  if (groups.length !== macGroups) return `has ${groups.length} groups, where a MAC address has ${macGroups}`;
  const wrong = groups.findIndex((group) => !hexPair.test(group)) + 1;
  return `group ${wrong} is not two hexadecimal digits (0-9, a-f)`;
}

function mistakenDigits(id: string): string | undefined {
  if (id.length !== macDigits || !/^[0-9a-z]+$/i.test(id) || !/\d/.test(id)) return undefined;
  const wrong = [...id].flatMap((digit, index) => (hexDigit.test(digit) ? [] : [index + 1]));
  if (macDigits - wrong.length < soundDigits) return undefined;
  return wrong.length === 1
    ? `character ${wrong.join()} is not a hexadecimal digit (0-9, a-f)`
    : `characters ${wrong.join(" and ")} are not hexadecimal digits (0-9, a-f)`;
}

/** What the parts of a client id over MQTT are parted by [MQT-1]. */
export const clientIdMark = "@@@";

/** Client-Id is a secret that names the board's memory; only its form is checked here. */
export function isClientId(text: string): boolean {
  if (text.length === 0 || text.length > limits.clientIdLength.max) return false;
  return /^[\x21-\x7e]+$/.test(text) && !text.includes(clientIdMark);
}
