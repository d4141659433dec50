/**
 * Devices that somebody may have meant by a name that is nobody's. In a small fleet every alias is looked at; in a
 * large one each name that is one key away from the wanted is looked up, which costs the same however many there are.
 */
import { limits, nearNames } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { DeviceRecord } from "./device-record.ts";

export interface NearDevicesNeeds {
  readonly records: ReadonlyMap<string, DeviceRecord>;
  readonly deviceOf: (alias: string) => string | undefined;
  readonly shows: (principal: Principal, record: DeviceRecord) => boolean;
}

const aliasLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
const hexDigits = "0123456789abcdef";
const aliasLength = 24;
const macDigits = 12;
const told = 3;

/** Ids where an id was meant, else aliases; only of devices that this principal may see. */
export function nearDevices(needs: NearDevicesNeeds, principal: Principal, reference: string): string[] {
  if (reference.length > limits.hintedNameLength.max) return [];
  const digits = reference.toLowerCase().replaceAll(/[:._\s-]/g, "");
  if (/^[0-9a-f]{11,13}$/.test(digits)) {
    const ids = oneKeyAway(digits, hexDigits).filter((text) => text.length === macDigits);
    return seen(needs, principal, ids.map(asMac), ({ id }) => id);
  }
  const candidates = candidatesFor(needs, principal);
  if (candidates !== undefined) return nearNames(reference, aliasesOf(needs, principal, candidates));
  const alias = reference
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  if (alias.length > aliasLength + 1) return [];
  const named = (names: readonly string[]) =>
    seen(
      needs,
      principal,
      names.map((name) => needs.deviceOf(name) ?? ""),
      (record) => record.alias,
    );
  const same = named([alias]);
  return same.length > 0 ? same : named(oneKeyAway(alias, aliasLetters));
}

/** Few enough to look at each; `undefined` where there are too many. */
function candidatesFor({ records }: NearDevicesNeeds, { devices }: Principal): Iterable<string> | undefined {
  if (records.size <= limits.hintCandidates.max) return records.keys();
  return devices !== undefined && devices.tags.size === 0 ? devices.ids : undefined;
}

function* aliasesOf(
  { records, shows }: NearDevicesNeeds,
  principal: Principal,
  ids: Iterable<string>,
): Generator<string> {
  let looked = 0;
  for (const id of ids) {
    looked += 1;
    if (looked > limits.hintCandidates.max) return;
    const record = records.get(id);
    if (record !== undefined && shows(principal, record)) yield record.alias;
  }
}

function seen(
  { records, shows }: NearDevicesNeeds,
  principal: Principal,
  ids: readonly string[],
  nameOf: (record: DeviceRecord) => string,
): string[] {
  const names = new Set<string>();
  for (const id of ids) {
    const record = records.get(id);
    if (record !== undefined && shows(principal, record)) names.add(nameOf(record));
    if (names.size === told) break;
  }
  return [...names];
}

/** Neighbours swapped, one letter less, another, one more. */
function oneKeyAway(text: string, letters: string): string[] {
  const made: string[] = [];
  for (let i = 0; i <= text.length; i += 1) {
    const [head, tail] = [text.slice(0, i), text.slice(i + 1)];
    if (i + 1 < text.length) made.push(`${head}${text[i + 1]}${text[i]}${text.slice(i + 2)}`);
    if (i < text.length) made.push(`${head}${tail}`);
    for (const letter of letters) {
      if (i < text.length) made.push(`${head}${letter}${tail}`);
      made.push(`${head}${letter}${text.slice(i)}`);
    }
  }
  return made;
}

function asMac(digits: string): string {
  return digits.match(/../g)?.join(":") ?? digits;
}
