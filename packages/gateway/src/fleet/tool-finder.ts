/** Finds tools by parts of their names, for search fields. Tools of online devices come first. */
import type { NamedTool, NamedTools, ToolDefinition, ToolsQuery } from "@tendon/protocol";
import { type Policy, type Principal, requireScope } from "../access/access.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { KnownDevices } from "./known-devices.ts";

const defaultLimit = 8;
/** Each word is a bit of a bit mask; names have fewer words than this. */
const maxWords = 8;
/** The number of devices whose access rules are evaluated, to bound the work. */
const maxDevices = 64;

interface Candidate {
  readonly record: DeviceRecord;
  readonly seenAt: number;
}

export class ToolFinder {
  readonly #devices: KnownDevices;
  readonly #policy: Policy;

  constructor(devices: KnownDevices, policy: Policy) {
    this.#devices = devices;
    this.#policy = policy;
  }

  /**
   * Examples: `volume`, `set vol`, `desk vol`. Each word must be a part of the tool's name or of its device's alias, and at
   * least one word a part of the tool's name. Tools that the principal may not call are left out.
   */
  find(principal: Principal, { q, limit = defaultLimit }: ToolsQuery): NamedTools {
    requireScope(principal, "read");
    const matcher = matcherFor(q);
    const found: NamedTool[] = [];
    for (const { record, seenAt } of this.#lastSeenFirst(principal, matcher)) {
      const matches = matcher(record);
      for (const tool of record.catalogue.tools()) {
        if (found.length === limit) return { tools: found };
        if (!matches(tool)) continue;
        const { access } = this.#policy.accessTo(principal, record, tool);
        if (access === "denied") continue;
        found.push({
          device: record.id,
          alias: record.alias,
          tool: tool.name,
          audience: tool.audience,
          online: seenAt === Number.POSITIVE_INFINITY,
        });
      }
    }
    return { tools: found };
  }

  /** Online devices come first, in the order of the records. */
  #lastSeenFirst(principal: Principal, matcher: Matcher): Candidate[] {
    const best: Candidate[] = [];
    for (const record of this.#devices.records.values()) {
      const seenAt = record.handle === undefined ? (record.lastOnlineAt ?? 0) : Number.POSITIVE_INFINITY;
      const last = best.at(-1);
      if (best.length === maxDevices && last !== undefined && seenAt <= last.seenAt) continue;
      if (!this.#devices.shows(principal, record)) continue;
      if (!record.catalogue.tools().some(matcher(record))) continue;
      const place = best.findIndex((other) => other.seenAt < seenAt);
      best.splice(place === -1 ? best.length : place, 0, { record, seenAt });
      best.length = Math.min(best.length, maxDevices);
    }
    return best;
  }
}

type Matcher = (record: DeviceRecord) => (tool: ToolDefinition) => boolean;

/** Equal tools of many devices are the same object, so the result for a tool's name is cached. */
function matcherFor(q: string): Matcher {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxWords);
  const all = 2 ** words.length - 1;
  if (words.length === 0) return () => () => false;
  const nameMatches = new Map<ToolDefinition, number>();
  const readName = (tool: ToolDefinition) => {
    const bits = matchedWords(words, tool.name);
    nameMatches.set(tool, bits);
    return bits;
  };
  return ({ alias }) => {
    let byAlias: number | undefined;
    return (tool) => {
      const byName = nameMatches.get(tool) ?? readName(tool);
      if (byName === 0 || byName === all) return byName !== 0;
      byAlias ??= matchedWords(words, alias);
      return (byName | byAlias) === all;
    };
  };
}

/** A bit mask of the words that the text contains. */
function matchedWords(words: readonly string[], text: string): number {
  const lower = text.toLowerCase();
  return words.reduce((bits, word, at) => (lower.includes(word) ? bits | (1 << at) : bits), 0);
}
