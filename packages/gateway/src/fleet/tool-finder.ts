/** Tools by a few letters of their names, for people who type: those of devices that are here come first. */
import type { NamedTool, NamedTools, ToolDefinition, ToolsQuery } from "@tendon/protocol";
import { type Policy, type Principal, requireScope } from "../access/access.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { KnownDevices } from "./known-devices.ts";

const shownAtOnce = 8;
/** More words than a name has tell nothing more; each is a bit below. */
const mostWords = 8;
/** So many devices are looked at closely; tools that somebody may not use are rarely on all of them. */
const mostDevices = 64;

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
   * Each word of the request is a part of the tool's name or of its device's alias, and at least one of the tool's:
   * `volume`, `set vol`, `desk vol`. What whoever asks may not call is left out.
   */
  find(principal: Principal, { q, limit = shownAtOnce }: ToolsQuery): NamedTools {
    requireScope(principal, "read");
    const fits = request(q);
    const found: NamedTool[] = [];
    for (const { record, seenAt } of this.#lastSeenFirst(principal, fits)) {
      const fitting = fits(record);
      for (const tool of record.catalogue.tools()) {
        if (found.length === limit) return { tools: found };
        if (!fitting(tool)) continue;
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

  /** Those who are here are all seen now; among them the order of their ids is kept. */
  #lastSeenFirst(principal: Principal, fits: Fits): Candidate[] {
    const best: Candidate[] = [];
    for (const record of this.#devices.records.values()) {
      const seenAt = record.handle === undefined ? (record.awaySince ?? 0) : Number.POSITIVE_INFINITY;
      const last = best.at(-1);
      if (best.length === mostDevices && last !== undefined && seenAt <= last.seenAt) continue;
      if (!this.#devices.shows(principal, record)) continue;
      if (!record.catalogue.tools().some(fits(record))) continue;
      const place = best.findIndex((other) => other.seenAt < seenAt);
      best.splice(place === -1 ? best.length : place, 0, { record, seenAt });
      best.length = Math.min(best.length, mostDevices);
    }
    return best;
  }
}

type Fits = (record: DeviceRecord) => (tool: ToolDefinition) => boolean;

/** Equal tools of many devices are one object, and read once; so is each device's alias, where it is needed. */
function request(q: string): Fits {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, mostWords);
  const all = 2 ** words.length - 1;
  if (words.length === 0) return () => () => false;
  const met = new Map<ToolDefinition, number>();
  const readName = (tool: ToolDefinition) => {
    const bits = meeting(words, tool.name);
    met.set(tool, bits);
    return bits;
  };
  return ({ alias }) => {
    let byAlias: number | undefined;
    return (tool) => {
      const byName = met.get(tool) ?? readName(tool);
      if (byName === 0 || byName === all) return byName !== 0;
      byAlias ??= meeting(words, alias);
      return (byName | byAlias) === all;
    };
  };
}

/** Which of the words are parts of the text, a bit for each. */
function meeting(words: readonly string[], text: string): number {
  const lower = text.toLowerCase();
  return words.reduce((bits, word, at) => (lower.includes(word) ? bits | (1 << at) : bits), 0);
}
