/**
 * Suggests devices for an unknown name. In a small fleet it compares every alias. In a large fleet it looks up each name
 * that is one edit away, which costs the same for any number of devices.
 */
import { limits, nearNames } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { DeviceRecord } from "./device-record.ts";

export interface NearDevicesDependencies {
  readonly records: ReadonlyMap<string, DeviceRecord>;
  readonly deviceOf: (alias: string) => string | undefined;
  readonly shows: (principal: Principal, record: DeviceRecord) => boolean;
}

const aliasLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
const hexDigits = "0123456789abcdef";
const aliasLength = 24;
const macDigits = 12;
const maxHints = 3;

/** Suggests ids for a reference that looks like an id, and aliases otherwise; only of devices the principal may see. */
export function nearDevices(
  dependencies: NearDevicesDependencies,
  principal: Principal,
  reference: string,
): string[] {
  if (reference.length > limits.hintedNameLength.max) return [];
  const digits = reference.toLowerCase().replaceAll(/[:._\s-]/g, "");
  if (/^[0-9a-f]{11,13}$/.test(digits)) {
    const ids = oneEditAway(digits, hexDigits).filter((text) => text.length === macDigits);
    return visibleNames(dependencies, principal, ids.map(asMac), ({ id }) => id);
  }
  const candidates = candidatesFor(dependencies, principal);
  if (candidates !== undefined) return nearNames(reference, aliasesOf(dependencies, principal, candidates));
  const alias = reference
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  if (alias.length > aliasLength + 1) return [];
  const named = (names: readonly string[]) =>
    visibleNames(
      dependencies,
      principal,
      names.map((name) => dependencies.deviceOf(name) ?? ""),
      (record) => record.alias,
    );
  const same = named([alias]);
  return same.length > 0 ? same : named(oneEditAway(alias, aliasLetters));
}

/** The devices to compare; `undefined` if there are too many. */
function candidatesFor(
  { records }: NearDevicesDependencies,
  { devices }: Principal,
): Iterable<string> | undefined {
  if (records.size <= limits.hintCandidates.max) return records.keys();
  return devices !== undefined && devices.tags.size === 0 ? devices.ids : undefined;
}

function* aliasesOf(
  { records, shows }: NearDevicesDependencies,
  principal: Principal,
  ids: Iterable<string>,
): Generator<string> {
  let checked = 0;
  for (const id of ids) {
    checked += 1;
    if (checked > limits.hintCandidates.max) return;
    const record = records.get(id);
    if (record !== undefined && shows(principal, record)) yield record.alias;
  }
}

function visibleNames(
  { records, shows }: NearDevicesDependencies,
  principal: Principal,
  ids: readonly string[],
  nameOf: (record: DeviceRecord) => string,
): string[] {
  const names = new Set<string>();
  for (const id of ids) {
    const record = records.get(id);
    if (record !== undefined && shows(principal, record)) names.add(nameOf(record));
    if (names.size === maxHints) break;
  }
  return [...names];
}

/** All texts that differ by one transposition, deletion, substitution or insertion. */
function oneEditAway(text: string, letters: string): string[] {
  const variants: string[] = [];
  for (let i = 0; i <= text.length; i += 1) {
    const [head, tail] = [text.slice(0, i), text.slice(i + 1)];
    if (i + 1 < text.length) variants.push(`${head}${text[i + 1]}${text[i]}${text.slice(i + 2)}`);
    if (i < text.length) variants.push(`${head}${tail}`);
    for (const letter of letters) {
      if (i < text.length) variants.push(`${head}${letter}${tail}`);
      variants.push(`${head}${letter}${text.slice(i)}`);
    }
  }
  return variants;
}

function asMac(digits: string): string {
  return digits.match(/../g)?.join(":") ?? digits;
}
