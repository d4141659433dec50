/**
 * Tool names that every agent accepts: short, with letters, digits, `_` and `-` [AGT-1]. The part before the first `__` is
 * an alias, which has no `_`; the rest is looked up among the device's tools. The caller passes the digest, because this
 * package uses no Node APIs.
 */
const EXPOSED_LENGTH = 48;
const DIGEST_LENGTH = 6;
const ALIAS_LENGTH = 24;
const separator = "__";

export const aliasPattern = "^[a-z][a-z0-9-]{0,23}$";
const alias = new RegExp(aliasPattern);

export type Digest = (text: string) => string;

export function isAlias(text: string): boolean {
  return alias.test(text);
}

/** `self.audio_speaker.set_volume` becomes `audio_speaker_set_volume`. */
export function bareToolName(tool: string): string {
  const short = tool.startsWith("self.") ? tool.slice("self.".length) : tool;
  const safe = short.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return safe === "" ? "_" : safe;
}

export function exposedName(deviceAlias: string, tool: string): string {
  return deviceAlias + separator + bareToolName(tool);
}

/** The alias in an exposed name; the whole text if it is none. */
export function aliasOfExposedName(name: string): string {
  const end = name.indexOf(separator);
  return end === -1 ? name : name.slice(0, end);
}

/** What follows the alias in an exposed name. */
export function bareNameOfExposedName(name: string): string {
  return name.slice(aliasOfExposedName(name).length + separator.length);
}

export function fitsAsExposedName(name: string): boolean {
  return name.length <= EXPOSED_LENGTH;
}

/** A name that is too long or already used: truncated, with a digest that makes it unique. */
export function shortenedName(name: string, deviceId: string, tool: string, sha256Hex: Digest): string {
  const tail = `_${sha256Hex(`${deviceId}\u0000${tool}`).slice(0, DIGEST_LENGTH)}`;
  return `${name.slice(0, EXPOSED_LENGTH - tail.length)}${tail}`;
}

/** The default alias of a device: its board and the last four hex digits of its id. */
export function defaultAlias(board: string, deviceId: string): string {
  const tail = deviceId
    .toLowerCase()
    .replaceAll(/[^0-9a-f]/g, "")
    .slice(-4)
    .padStart(4, "0");
  const slug = board
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^[^a-z]+|-+$/g, "");
  const room = ALIAS_LENGTH - tail.length - 1;
  return `${(slug === "" ? "device" : slug).slice(0, room).replace(/-+$/, "")}-${tail}`;
}
