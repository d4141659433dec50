import { limits } from "../limits.ts";

const MAC = /^[0-9a-f]{2}([:_-]?[0-9a-f]{2}){5}$/i;
const usualMac = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;
const OTHER_ID = /^[a-z0-9][a-z0-9:._-]*$/i;

/**
 * [DEV-6] The normalized id of a device: a MAC address in lower case with colons; other ids are unchanged. `undefined`
 * for text that cannot be an id.
 */
export function normaliseDeviceId(text: string): string | undefined {
  const id = text.trim();
  if (id.length === 0 || id.length > limits.deviceIdLength.max) return undefined;
  if (usualMac.test(id)) return id;
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
/** A text with at least this many parts of a MAC address counts as a mistyped one; otherwise it is another kind of id. */
const soundGroups = 4;
const soundDigits = 10;

/**
 * [PRV-6] The mistake in an id that looks like a MAC address; `undefined` for a valid one and for other ids. A device may
 * have any id, so this check is only for ids that people type: a device with a mistyped id would never connect.
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

/** Separates the parts of an MQTT client id [MQT-1]. */
export const clientIdMark = "@@@";

/** Client-Id is a secret of the board; only its format is checked here. */
export function isClientId(text: string): boolean {
  if (text.length === 0 || text.length > limits.clientIdLength.max) return false;
  return /^[\x21-\x7e]+$/.test(text) && !text.includes(clientIdMark);
}
