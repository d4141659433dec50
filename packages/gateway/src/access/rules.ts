/**
 * `access.rules` [ACC-1…4], made ready once: which of them name a call, and which of those counts. Deny beats confirm
 * beats allow; where no rule names a call, the default holds. Without rules nothing is looked at.
 */
import type { JsonObject } from "@tendon/protocol";
import { type AccessRule, type AccessSettings, type Condition, readCondition } from "../access-settings.ts";
import type { Principal } from "./principal.ts";

type Effect = AccessRule["effect"];

/** What is said about a call, by a rule or by default. */
export interface Verdict {
  readonly effect: Effect;
  /** The approvals queue decides, and no shorter way. */
  readonly queueOnly: boolean;
  readonly reason: string | undefined;
  /** A rule says so, not the default. */
  readonly byRule: boolean;
}

export interface RuledDevice {
  readonly id: string;
  readonly alias: string;
  readonly tags: readonly string[];
}

interface Rule extends Verdict {
  readonly device: ((device: RuledDevice) => boolean) | undefined;
  readonly tag: Glob | undefined;
  readonly tool: Glob | undefined;
  readonly principal: Glob | undefined;
  readonly args: readonly ArgumentTest[];
}

interface ArgumentTest {
  readonly path: readonly string[];
  /** It has to be there, or must not be, whatever it is. */
  readonly present: boolean | undefined;
  readonly fits: (value: unknown) => boolean;
}

const strength: Readonly<Record<Effect, number>> = { allow: 1, confirm: 2, deny: 4 };
const toolsRemembered = 10_000;

export class Rules {
  readonly #rules: readonly Rule[];
  readonly #default: Verdict;
  /** By tool: the rules that could name it. */
  readonly #byTool = new Map<string, readonly Rule[]>();
  /** Nothing is ruled: every call is as its scopes say. */
  readonly idle: boolean;

  /** `idOf` finds the device behind an id or alias, former aliases too: a new name does not shake off a rule. */
  constructor(settings: Pick<AccessSettings, "rules" | "default">, idOf: (reference: string) => string) {
    this.#rules = settings.rules.map((rule) => compile(rule, idOf));
    this.#default = { effect: settings.default, queueOnly: false, reason: undefined, byRule: false };
    this.idle = this.#rules.length === 0 && settings.default === "allow";
  }

  /** What holds for a call with these arguments. */
  judge(
    principal: Principal,
    device: RuledDevice,
    tool: string,
    args: JsonObject,
    schema: JsonObject | undefined,
  ): Verdict {
    let strongest: Verdict | undefined;
    for (const rule of this.#naming(tool)) {
      if (!names(rule, principal, device) || !holds(rule, args, schema)) continue;
      if (strongest === undefined || weight(rule) > weight(strongest)) strongest = rule;
    }
    return strongest ?? this.#default;
  }

  /**
   * The mildest that a call of this tool could meet, with the best of arguments, and whether they decide. For lists:
   * nobody is told that something is denied which some call could do.
   */
  mildest(
    principal: Principal,
    device: RuledDevice,
    tool: string,
  ): { readonly verdict: Verdict; readonly possible: readonly Verdict[]; readonly argumentsDecide: boolean } {
    const naming = this.#naming(tool).filter((rule) => names(rule, principal, device));
    const always = naming.filter(({ args }) => args.length === 0);
    const sometimes = naming.filter(({ args }) => args.length > 0);
    const verdict = always.reduce<Verdict | undefined>(
      (strongest, rule) => (strongest === undefined || weight(rule) > weight(strongest) ? rule : strongest),
      undefined,
    );
    const possible = verdict === undefined ? [this.#default, ...sometimes] : [verdict, ...sometimes];
    const best =
      verdict ?? possible.reduce((mildest, other) => (weight(other) < weight(mildest) ? other : mildest));
    return { verdict: best, possible, argumentsDecide: sometimes.length > 0 && best.effect !== "deny" };
  }

  /** Whether a call of this tool could need a person's word at all. */
  mayConfirm(tool: string): boolean {
    if (this.idle) return false;
    return (
      this.#default.effect === "confirm" || this.#naming(tool).some(({ effect }) => effect === "confirm")
    );
  }

  #naming(tool: string): readonly Rule[] {
    const known = this.#byTool.get(tool);
    if (known !== undefined) return known;
    const naming = this.#rules.filter((rule) => rule.tool === undefined || rule.tool(tool));
    // Names come from callers too: no more of them are kept than there could be tools.
    if (this.#byTool.size >= toolsRemembered) this.#byTool.clear();
    this.#byTool.set(tool, naming);
    return naming;
  }
}

/** Of two that ask for a person's word, the one that asks for the queue is the stronger. */
function weight({ effect, queueOnly }: Verdict): number {
  return strength[effect] + (queueOnly ? 1 : 0);
}

function compile(rule: AccessRule, idOf: (reference: string) => string): Rule {
  return {
    effect: rule.effect,
    queueOnly: rule.via === "queue",
    reason: rule.reason,
    byRule: true,
    device: rule.device === undefined ? undefined : deviceTest(rule.device, idOf),
    tag: rule.tag === undefined ? undefined : compileGlob(rule.tag),
    tool: rule.tool === undefined ? undefined : compileGlob(rule.tool),
    principal: rule.principal === undefined ? undefined : compileGlob(rule.principal),
    args: Object.entries(rule.args ?? {}).flatMap(([name, written]): ArgumentTest[] => {
      const condition = readCondition(written);
      // Wrong ones have stopped the start.
      return condition.kind === "wrong" ? [] : [{ path: pathOf(name), ...argumentTest(condition) }];
    }),
  };
}

function deviceTest(reference: string, idOf: (reference: string) => string) {
  if (!isGlob(reference)) return ({ id }: RuledDevice) => id === idOf(reference);
  const glob = compileGlob(reference);
  return ({ id, alias }: RuledDevice) => glob(id) || glob(alias);
}

/** An argument's name, or a JSON pointer to one further in. */
function pathOf(name: string): string[] {
  if (!name.startsWith("/")) return [name];
  return name
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function names(rule: Rule, principal: Principal, device: RuledDevice): boolean {
  if (rule.principal !== undefined && !rule.principal(principal.name) && !rule.principal(principal.id))
    return false;
  if (rule.device !== undefined && !rule.device(device)) return false;
  const { tag } = rule;
  return tag === undefined || device.tags.some((one) => tag(one));
}

/** Every condition of the rule. A rule that allows has to fit all that is given; one that forbids, any of it. */
function holds(rule: Rule, args: JsonObject, schema: JsonObject | undefined): boolean {
  return rule.args.every(({ path, present, fits }) => {
    if (present !== undefined) return isGiven(args, path) === present;
    const values = valuesAt(args, schema, path);
    return values.length > 0 && (rule.effect === "allow" ? values.every(fits) : values.some(fits));
  });
}

/**
 * What a device may take for this argument: boards ignore case in names, fill in the schema's default where nothing
 * is given, and of a list each element counts.
 */
function valuesAt(args: unknown, schema: unknown, path: readonly string[]): unknown[] {
  const [name = "", ...rest] = path;
  const property = memberOf(memberOf(schema, "properties"), name);
  const given = spellings(args, name);
  const values =
    given.length > 0 ? given : [memberOf(property, "default")].filter((value) => value !== undefined);
  if (rest.length > 0)
    return values.flatMap((value) => (typeof value === "object" ? valuesAt(value, property, rest) : []));
  return values.flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]));
}

function isGiven(args: unknown, path: readonly string[]): boolean {
  const [name = "", ...rest] = path;
  const given = spellings(args, name);
  return rest.length === 0 ? given.length > 0 : given.some((value) => isGiven(value, rest));
}

function spellings(holder: unknown, name: string): unknown[] {
  if (typeof holder !== "object" || holder === null) return [];
  const wanted = name.toLowerCase();
  return Object.entries(holder)
    .filter(([key]) => key === name || key.toLowerCase() === wanted)
    .map(([, value]) => value as unknown);
}

function memberOf(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, name)
    ? (holder as JsonObject)[name]
    : undefined;
}

function argumentTest(condition: Condition): Omit<ArgumentTest, "path"> {
  switch (condition.kind) {
    case "equal":
      return { present: undefined, fits: (value) => condition.values.includes(value) };
    case "range": {
      const { min, max } = condition;
      return {
        present: undefined,
        fits: (value) => typeof value === "number" && value >= min && value <= max,
      };
    }
    case "pattern": {
      const glob = compileGlob(condition.pattern);
      return { present: undefined, fits: (value) => typeof value === "string" && glob(value) };
    }
    case "present":
      return { present: condition.present, fits: () => true };
  }
}

/**
 * Patterns of settings: `*` is any text, also none; every other character is itself. No regular expressions: a
 * pattern costs no more than a search for its parts, whatever the text.
 */
type Glob = (text: string) => boolean;

export function compileGlob(pattern: string): Glob {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
      return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

function isGlob(pattern: string): boolean {
  return pattern.includes("*");
}
