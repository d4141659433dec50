/**
 * Finds tools by what somebody wants [AGT-11]. A fleet has few kinds of tools and many devices, so the two are indexed
 * apart: a tool is found by its name, description and arguments, a device by its alias, tags and board, and a tool of
 * a device counts as much as both together. The index changes when a device does, never when somebody asks.
 */
import { bareToolName, type ToolDefinition, toolAnnotations } from "@tendon/protocol";
import MiniSearch from "minisearch";
import { Places } from "./places.ts";
import { isQuestion, type Language, languageOf, readRequest, readText, wantsChange } from "./words.ts";

export interface SearchedDevice {
  readonly id: string;
  readonly alias: string;
  readonly board: string | undefined;
  readonly tags: readonly string[];
  readonly tools: readonly ToolDefinition[];
}

export interface Match {
  readonly device: string;
  readonly tool: string;
  readonly score: number;
}

export interface Asked {
  readonly query: string;
  readonly limit: number;
  /** Which tools count for whoever asks. */
  readonly wanted: (device: string, tool: string) => boolean;
  /** The only devices that are looked at; all of them where it is left out. */
  readonly within?: ReadonlySet<string> | undefined;
  /** Devices that can be called now: among equally good tools theirs come first. */
  readonly isOnline?: IsOnline;
}

type IsOnline = (device: string) => boolean;

interface Kind {
  readonly id: number;
  readonly definition: ToolDefinition;
  readonly devices: Set<string>;
  readonly document: Document;
  readonly language: Language | undefined;
  readonly reads: boolean;
}

interface Document {
  readonly id: number;
  readonly name: string;
  readonly concepts: string;
  readonly text: string;
}

const fields = ["name", "concepts", "text"];
/** A space joins the words of a field; there is none inside a word. */
const split = (text: string) => text.split(" ");
const boost = { name: 3, concepts: 2.5, text: 1 };
/** So many kinds of tools, and devices, are looked at for one request; further ones have hardly a word of it. */
const mostLookedAt = 256;
const mostUnits = 32;
/** A tool that is not for whoever asks is looked for on so many devices in vain. */
const mostRefused = 100;
const longestQuery = 512;
const repeated = 0.75;
const sameLanguage = 1.6;
const readsForQuestion = 1.3;
/** What only reads is the first step to a change at best, however much it says of what it reads. */
const readsForChange = 0.5;

export class ToolSearch {
  readonly #tools = index();
  readonly #places = new Places();
  readonly #kinds = new Map<ToolDefinition, Kind>();
  readonly #byNumber = new Map<number, Kind>();
  readonly #devices = new Map<string, readonly ToolDefinition[]>();
  #lastNumber = 0;

  /** A device as it is now; `undefined` when it is gone. */
  update(id: string, device: SearchedDevice | undefined): void {
    const before = this.#devices.get(id);
    if (before !== undefined) this.#forget(id, before);
    if (device === undefined) return;
    const kinds = device.tools.map((tool) => this.#kindOf(tool));
    for (const { devices } of kinds) devices.add(id);
    const { alias, board, tags, tools } = device;
    const spoken = kinds.flatMap(({ document }) => document.concepts.split(" "));
    const about = [...new Set(spoken)].filter((concept) => concept !== "");
    this.#places.set(id, { alias, board, tags, about });
    this.#devices.set(id, tools);
  }

  /** A tool's own name, by that or by the name without prefix. */
  ownName(name: string): string | undefined {
    let byBareName: string | undefined;
    for (const { name: own } of this.#kinds.keys()) {
      if (own === name) return own;
      if (bareToolName(own) === name) byBareName ??= own;
    }
    return byBareName;
  }

  /** The best tools for a request, best first, of those that are wanted. */
  find({ query, limit, wanted, within, isOnline = () => true }: Asked): Match[] {
    const asked = query.slice(0, longestQuery);
    const units = readRequest(asked).slice(0, mostUnits);
    const places = best(this.#placeScores(units, within), isOnline);
    const language = languageOf(asked);
    const reading = isQuestion(asked) ? readsForQuestion : wantsChange(asked) ? readsForChange : 1;
    const found = new Map<string, Match>();
    const add = (device: string, tool: string, score: number) => {
      const key = `${device}\u0000${tool}`;
      if (found.has(key) || !wanted(device, tool)) return false;
      found.set(key, { device, tool, score });
      return true;
    };
    for (const [id, met] of best(this.#toolScores(units))) {
      const kind = this.#byNumber.get(id);
      if (kind === undefined) continue;
      const fitting =
        (language !== undefined && language === kind.language ? sameLanguage : 1) *
        (kind.reads ? reading : 1);
      spread({ kind, met, fitting, places, limit, within, isOnline, add });
    }
    // Somebody who names a device alone wants to know what it can do.
    for (const [device, met] of [...places].slice(0, limit)) {
      for (const { name } of this.#devices.get(device) ?? []) add(device, name, total(met, none));
    }
    return varied([...found.values()], isOnline).slice(0, limit);
  }

  #toolScores(units: readonly (readonly string[])[]): Map<number, Met> {
    const met = new Map<number, number[]>();
    for (const [unit, terms] of units.entries()) {
      for (const term of terms) {
        const options = term.startsWith("#") ? conceptOptions : wordOptions;
        for (const { id, score } of this.#tools.search(term, options))
          note(met, id as number, unit, score, units);
      }
    }
    return met;
  }

  #placeScores(
    units: readonly (readonly string[])[],
    within: ReadonlySet<string> | undefined,
  ): Map<string, Met> {
    const met = new Map<string, number[]>();
    for (const [unit, terms] of units.entries()) {
      for (const [id, score] of this.#places.meet(terms, within)) note(met, id, unit, score, units);
    }
    return met;
  }

  #forget(id: string, tools: readonly ToolDefinition[]): void {
    this.#places.delete(id);
    this.#devices.delete(id);
    for (const tool of tools) {
      const kind = this.#kinds.get(tool);
      if (kind === undefined || !kind.devices.delete(id) || kind.devices.size > 0) continue;
      this.#tools.remove(kind.document);
      this.#kinds.delete(tool);
      this.#byNumber.delete(kind.id);
    }
  }

  #kindOf(definition: ToolDefinition): Kind {
    const known = this.#kinds.get(definition);
    if (known !== undefined) return known;
    this.#lastNumber += 1;
    const id = this.#lastNumber;
    const kind = {
      id,
      definition,
      devices: new Set<string>(),
      document: toolDocument(id, definition),
      language: languageOf(definition.description),
      reads: toolAnnotations(definition).readOnlyHint,
    };
    this.#tools.add(kind.document);
    this.#kinds.set(definition, kind);
    this.#byNumber.set(id, kind);
    return kind;
  }
}

/** Of each document, how well it meets each unit of a request. */
type Met = readonly number[];
const none: Met = [];

function note<Id>(
  met: Map<Id, number[]>,
  id: Id,
  unit: number,
  score: number,
  units: readonly unknown[],
): void {
  const known = met.get(id);
  if (known === undefined) {
    const all = new Array<number>(units.length).fill(0);
    all[unit] = score;
    met.set(id, all);
  } else known[unit] = Math.max(known[unit] ?? 0, score);
}

/** What meets more of a request is worth more than what meets a part of it well. */
function total(one: Met, other: Met): number {
  let sum = 0;
  let count = 0;
  for (let unit = 0; unit < Math.max(one.length, other.length); unit += 1) {
    const met = Math.max(one[unit] ?? 0, other[unit] ?? 0);
    sum += met;
    if (met > 0) count += 1;
  }
  return sum * count;
}

function best<Id>(
  met: ReadonlyMap<Id, Met>,
  isFirst: (id: Id) => boolean = () => true,
): ReadonlyMap<Id, Met> {
  const ranked = [...met]
    .map(([id, each]) => ({ id, each, score: total(each, none), first: Number(isFirst(id)) }))
    .sort((a, b) => b.score - a.score || b.first - a.first);
  return new Map(ranked.slice(0, mostLookedAt).map(({ id, each }) => [id, each]));
}

interface Spread {
  readonly kind: Kind;
  readonly met: Met;
  readonly fitting: number;
  readonly places: ReadonlyMap<string, Met>;
  readonly limit: number;
  readonly within: ReadonlySet<string> | undefined;
  readonly isOnline: IsOnline;
  readonly add: (device: string, tool: string, score: number) => boolean;
}

/** The devices that have this tool: those the request speaks of, and as many others as can be shown. */
function spread({ kind, met, fitting, places, limit, within, isOnline, add }: Spread): void {
  const { definition, devices } = kind;
  let shown = 0;
  let refused = 0;
  const show = (device: string, score: number) => {
    if (add(device, definition.name, score * fitting)) shown += 1;
    else refused += 1;
  };
  const named = [...places]
    .filter(([device]) => devices.has(device))
    .map(([device, place]) => ({ device, score: total(met, place) }))
    .sort((a, b) => b.score - a.score || Number(isOnline(b.device)) - Number(isOnline(a.device)));
  for (const { device, score } of named) if (shown < limit) show(device, score);
  // They are all equally good: two walks, which end where enough are found, spare the sorting of a whole fleet.
  for (const online of [true, false]) {
    for (const device of within === undefined || within.size > devices.size ? devices : within) {
      if (shown >= limit || refused >= mostRefused) return;
      if (isOnline(device) !== online || places.has(device)) continue;
      if (devices.has(device) && within?.has(device) !== false) show(device, total(met, none));
    }
  }
}

function index(): MiniSearch<Document> {
  return new MiniSearch<Document>({ fields, tokenize: split, processTerm: (term) => term });
}

const wordOptions = {
  boost,
  tokenize: split,
  // Beginnings and slips of the pen; Chinese is taken to the letter.
  prefix: (term: string) => term.length >= 4 && /^[a-z]/.test(term),
  fuzzy: (term: string) => (term.length >= 6 && /^[a-z]/.test(term) ? 0.2 : false),
  weights: { prefix: 0.4, fuzzy: 0.3 },
  // Descriptions differ in length by their makers' taste, which says little.
  bm25: { k: 1.2, b: 0.3, d: 0.5 },
};
/** Of how much else a text speaks says nothing at all. */
const conceptOptions = { boost, tokenize: split, bm25: { k: 1.2, b: 0, d: 0.5 } };

function toolDocument(id: number, tool: ToolDefinition): Document {
  const properties = (tool.inputSchema["properties"] ?? {}) as Record<string, unknown>;
  const name = readText(tool.name.replace(/^self\./, ""));
  const text = readText([tool.description, ...Object.keys(properties)].join("\n"));
  return {
    id,
    name: name.words.join(" "),
    concepts: [...new Set([...name.concepts, ...text.concepts])].join(" "),
    text: text.words.join(" "),
  };
}

/** The same tool again, on another device, tells less each time. */
function varied(matches: Match[], isOnline: IsOnline): Match[] {
  const seen = new Map<string, number>();
  const byScore = (a: Match, b: Match) =>
    b.score - a.score ||
    Number(isOnline(b.device)) - Number(isOnline(a.device)) ||
    (a.device < b.device ? -1 : 1);
  const lessened = matches.sort(byScore).map((match) => {
    const times = seen.get(match.tool) ?? 0;
    seen.set(match.tool, times + 1);
    return { ...match, score: match.score * repeated ** times };
  });
  return lessened.sort(byScore);
}
