/**
 * Finds tools by a request in plain words [AGT-11]. A fleet has few kinds of tools and many devices, so they are indexed
 * separately: tools by name, description and arguments, devices by alias, tags and board. The score of a device's tool
 * combines both. The index is updated when a device changes, never during a search.
 */
import { bareToolName, type ToolDefinition, toolAnnotations } from "@tendon/protocol";
import MiniSearch from "minisearch";
import { DeviceIndex } from "./device-index.ts";
import {
  isQuestion,
  type Language,
  languageOf,
  readRequest,
  readText,
  wantsChange,
} from "./text-analysis.ts";

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

export interface SearchRequest {
  readonly query: string;
  readonly limit: number;
  /** Whether the caller may use the tool. */
  readonly wanted: (device: string, tool: string) => boolean;
  /** Searches only these devices; all by default. */
  readonly within?: ReadonlySet<string> | undefined;
  /** Tools of online devices come before equally good ones of offline devices. */
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
/** The words of a field are joined by spaces. */
const split = (text: string) => text.split(" ");
const boost = { name: 3, concepts: 2.5, text: 1 };
/** The number of kinds of tools, and of devices, that are ranked for one request; the rest hardly matches. */
const maxRanked = 256;
const maxUnits = 32;
/** After this many devices on which the caller may not use a tool, the search of it ends. */
const maxRefused = 100;
const maxQueryLength = 512;
const repeated = 0.75;
const sameLanguage = 1.6;
const readsForQuestion = 1.3;
/** For a request to change something, a read-only tool is a first step at best. */
const readsForChange = 0.5;

export class ToolSearch {
  readonly #tools = index();
  readonly #deviceIndex = new DeviceIndex();
  readonly #kinds = new Map<ToolDefinition, Kind>();
  readonly #byNumber = new Map<number, Kind>();
  readonly #devices = new Map<string, readonly ToolDefinition[]>();
  #lastNumber = 0;

  /** Indexes a tool before its device. Returns the length of the text that was read; 0 for a known tool. */
  prepare(tool: ToolDefinition): number {
    if (this.#kinds.has(tool)) return 0;
    const { document } = this.#kindOf(tool);
    return document.name.length + document.concepts.length + document.text.length;
  }

  /** Drops those of these tools that no device has. */
  release(tools: readonly ToolDefinition[]): void {
    for (const tool of tools) {
      const kind = this.#kinds.get(tool);
      if (kind === undefined || kind.devices.size > 0) continue;
      // The library removes the words later, in small steps: a device can have megabytes of them.
      this.#tools.discard(kind.id);
      this.#kinds.delete(tool);
      this.#byNumber.delete(kind.id);
    }
  }

  /** Updates a device; `undefined` removes it. */
  update(id: string, device: SearchedDevice | undefined): void {
    const before = this.#devices.get(id);
    if (before !== undefined) this.#remove(id, before);
    if (device === undefined) return;
    const kinds = device.tools.map((tool) => this.#kindOf(tool));
    for (const { devices } of kinds) devices.add(id);
    const { alias, board, tags, tools } = device;
    const spoken = kinds.flatMap(({ document }) => document.concepts.split(" "));
    const about = [...new Set(spoken)].filter((concept) => concept !== "");
    this.#deviceIndex.set(id, { alias, board, tags, about });
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

  /** The best tools for a request, best first. */
  find({ query, limit, wanted, within, isOnline = () => true }: SearchRequest): Match[] {
    const asked = query.slice(0, maxQueryLength);
    const units = readRequest(asked).slice(0, maxUnits);
    const deviceScores = best(this.#deviceScores(units, within), isOnline);
    const language = languageOf(asked);
    const reading = isQuestion(asked) ? readsForQuestion : wantsChange(asked) ? readsForChange : 1;
    const found = new Map<string, Match>();
    const add = (device: string, tool: string, score: number) => {
      const key = `${device}\u0000${tool}`;
      if (found.has(key) || !wanted(device, tool)) return false;
      found.set(key, { device, tool, score });
      return true;
    };
    for (const [id, scores] of best(this.#toolScores(units))) {
      const kind = this.#byNumber.get(id);
      if (kind === undefined) continue;
      const fitting =
        (language !== undefined && language === kind.language ? sameLanguage : 1) *
        (kind.reads ? reading : 1);
      spread({ kind, scores, fitting, deviceScores, limit, within, isOnline, add });
    }
    // A request that only names a device finds all tools of that device.
    for (const [device, scores] of [...deviceScores].slice(0, limit)) {
      for (const { name } of this.#devices.get(device) ?? []) add(device, name, total(scores, none));
    }
    return varied([...found.values()], isOnline).slice(0, limit);
  }

  #toolScores(units: readonly (readonly string[])[]): Map<number, UnitScores> {
    const scores = new Map<number, number[]>();
    for (const [unit, terms] of units.entries()) {
      for (const term of terms) {
        const options = term.startsWith("#") ? conceptOptions : wordOptions;
        for (const { id, score } of this.#tools.search(term, options))
          addScore(scores, id as number, unit, score, units);
      }
    }
    return scores;
  }

  #deviceScores(
    units: readonly (readonly string[])[],
    within: ReadonlySet<string> | undefined,
  ): Map<string, UnitScores> {
    const scores = new Map<string, number[]>();
    for (const [unit, terms] of units.entries()) {
      for (const [id, score] of this.#deviceIndex.match(terms, within))
        addScore(scores, id, unit, score, units);
    }
    return scores;
  }

  #remove(id: string, tools: readonly ToolDefinition[]): void {
    this.#deviceIndex.delete(id);
    this.#devices.delete(id);
    for (const tool of tools) this.#kinds.get(tool)?.devices.delete(id);
    this.release(tools);
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

/** The score of a document for each unit of a request. */
type UnitScores = readonly number[];
const none: UnitScores = [];

function addScore<Id>(
  scores: Map<Id, number[]>,
  id: Id,
  unit: number,
  score: number,
  units: readonly unknown[],
): void {
  const known = scores.get(id);
  if (known === undefined) {
    const all = new Array<number>(units.length).fill(0);
    all[unit] = score;
    scores.set(id, all);
  } else known[unit] = Math.max(known[unit] ?? 0, score);
}

/** Matching more units of a request scores higher than matching one of them well. */
function total(one: UnitScores, other: UnitScores): number {
  let sum = 0;
  let count = 0;
  for (let unit = 0; unit < Math.max(one.length, other.length); unit += 1) {
    const score = Math.max(one[unit] ?? 0, other[unit] ?? 0);
    sum += score;
    if (score > 0) count += 1;
  }
  return sum * count;
}

function best<Id>(
  scores: ReadonlyMap<Id, UnitScores>,
  isFirst: (id: Id) => boolean = () => true,
): ReadonlyMap<Id, UnitScores> {
  const ranked = [...scores]
    .map(([id, each]) => ({ id, each, score: total(each, none), first: Number(isFirst(id)) }))
    .sort((a, b) => b.score - a.score || b.first - a.first);
  return new Map(ranked.slice(0, maxRanked).map(({ id, each }) => [id, each]));
}

interface Spread {
  readonly kind: Kind;
  readonly scores: UnitScores;
  readonly fitting: number;
  readonly deviceScores: ReadonlyMap<string, UnitScores>;
  readonly limit: number;
  readonly within: ReadonlySet<string> | undefined;
  readonly isOnline: IsOnline;
  readonly add: (device: string, tool: string, score: number) => boolean;
}

/** Adds the devices that have this tool: first those that the request names, then others up to the limit. */
function spread({ kind, scores, fitting, deviceScores, limit, within, isOnline, add }: Spread): void {
  const { definition, devices } = kind;
  let shown = 0;
  let refused = 0;
  const show = (device: string, score: number) => {
    if (add(device, definition.name, score * fitting)) shown += 1;
    else refused += 1;
  };
  const named = [...deviceScores]
    .filter(([device]) => devices.has(device))
    .map(([device, own]) => ({ device, score: total(scores, own) }))
    .sort((a, b) => b.score - a.score || Number(isOnline(b.device)) - Number(isOnline(a.device)));
  for (const { device, score } of named) if (shown < limit) show(device, score);
  // The others are equally good. Two passes that end at the limit avoid sorting the whole fleet.
  for (const online of [true, false]) {
    for (const device of within === undefined || within.size > devices.size ? devices : within) {
      if (shown >= limit || refused >= maxRefused) return;
      if (isOnline(device) !== online || deviceScores.has(device)) continue;
      if (devices.has(device) && within?.has(device) !== false) show(device, total(scores, none));
    }
  }
}

function index(): MiniSearch<Document> {
  return new MiniSearch<Document>({ fields, tokenize: split, processTerm: (term) => term });
}

const wordOptions = {
  boost,
  tokenize: split,
  // Prefixes and typing errors; Chinese and pairs of Vietnamese syllables must match exactly.
  prefix: (term: string) => term.length >= 4 && /^[a-z][^_]*$/.test(term),
  fuzzy: (term: string) => (term.length >= 6 && /^[a-z][^_]*$/.test(term) ? 0.2 : false),
  weights: { prefix: 0.4, fuzzy: 0.3 },
  // The length of a description says little about its relevance.
  bm25: { k: 1.2, b: 0.3, d: 0.5 },
};
/** For concepts, the length of the text does not matter at all. */
const conceptOptions = { boost, tokenize: split, bm25: { k: 1.2, b: 0, d: 0.5 } };

function toolDocument(id: number, tool: ToolDefinition): Document {
  const properties = (tool.inputSchema["properties"] ?? {}) as Record<string, unknown>;
  const description = [tool.description, ...Object.keys(properties)].join("\n");
  const text = readText(description);
  const bare = tool.name.replace(/^self\./, "");
  // A Vietnamese name has no accents, so its description shows its language.
  const name = languageOf(tool.description) === "vi" ? readText(bare, "vi") : readText(bare);
  return {
    id,
    name: name.words.join(" "),
    concepts: [...new Set([...name.concepts, ...text.concepts])].join(" "),
    text: text.words.join(" "),
  };
}

/** Lowers the score of the same tool on each further device, so that results vary. */
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
