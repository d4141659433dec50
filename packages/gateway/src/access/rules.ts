/**
 * `access.rules` [ACC-1…4], compiled once. Of the rules that match a call, deny beats confirm beats allow. Without a
 * matching rule `access.default` applies.
 */
import type { JsonObject } from "@tendon/protocol";
import { type AccessRule, type AccessSettings, type Condition, readCondition } from "../access-settings.ts";
import type { Principal } from "./principal.ts";

type Effect = AccessRule["effect"];

/** The decision about a call, by a rule or by default. */
export interface Verdict {
  readonly effect: Effect;
  /** Only the approvals queue may approve the call, not the person in front of the agent. */
  readonly queueOnly: boolean;
  readonly reason: string | undefined;
  /** Decided by a rule, not by the default. */
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
  /** The argument must be present, or must be absent; its value does not matter. */
  readonly present: boolean | undefined;
  readonly fits: (value: unknown) => boolean;
}

const strength: Readonly<Record<Effect, number>> = { allow: 1, confirm: 2, deny: 4 };
const maxCachedTools = 10_000;

export class Rules {
  readonly #rules: readonly Rule[];
  readonly #default: Verdict;
  /** By tool: the rules that could match it. */
  readonly #byTool = new Map<string, readonly Rule[]>();
  /** There are no rules and the default is `allow`, so only scopes decide. */
  readonly idle: boolean;

  /** `idOf` also resolves former aliases, so that a rule still applies after a rename. */
  constructor(settings: Pick<AccessSettings, "rules" | "default">, idOf: (reference: string) => string) {
    this.#rules = settings.rules.map((rule) => compile(rule, idOf));
    this.#default = { effect: settings.default, queueOnly: false, reason: undefined, byRule: false };
    this.idle = this.#rules.length === 0 && settings.default === "allow";
  }

  /** The verdict for a call with these arguments. */
  judge(
    principal: Principal,
    device: RuledDevice,
    tool: string,
    args: JsonObject,
    schema: JsonObject | undefined,
  ): Verdict {
    let strongest: Verdict | undefined;
    for (const rule of this.#candidates(tool)) {
      if (!matches(rule, principal, device) || !holds(rule, args, schema)) continue;
      if (strongest === undefined || weight(rule) > weight(strongest)) strongest = rule;
    }
    return strongest ?? this.#default;
  }

  /**
   * The least strict verdict that a call of this tool could get, and whether it depends on the arguments. For lists: a
   * tool is shown as denied only if every call of it is.
   */
  leastStrict(
    principal: Principal,
    device: RuledDevice,
    tool: string,
  ): { readonly verdict: Verdict; readonly possible: readonly Verdict[]; readonly argumentsDecide: boolean } {
    const candidates = this.#candidates(tool).filter((rule) => matches(rule, principal, device));
    const always = candidates.filter(({ args }) => args.length === 0);
    const sometimes = candidates.filter(({ args }) => args.length > 0);
    const verdict = always.reduce<Verdict | undefined>(
      (strongest, rule) => (strongest === undefined || weight(rule) > weight(strongest) ? rule : strongest),
      undefined,
    );
    const possible = verdict === undefined ? [this.#default, ...sometimes] : [verdict, ...sometimes];
    const best =
      verdict ??
      possible.reduce((leastStrict, other) => (weight(other) < weight(leastStrict) ? other : leastStrict));
    return { verdict: best, possible, argumentsDecide: sometimes.length > 0 && best.effect !== "deny" };
  }

  /** Whether a call of this tool could need approval. */
  mayConfirm(tool: string): boolean {
    if (this.idle) return false;
    return (
      this.#default.effect === "confirm" || this.#candidates(tool).some(({ effect }) => effect === "confirm")
    );
  }

  #candidates(tool: string): readonly Rule[] {
    const known = this.#byTool.get(tool);
    if (known !== undefined) return known;
    const candidates = this.#rules.filter((rule) => rule.tool === undefined || rule.tool(tool));
    // Callers can send any name, so the cache is bounded.
    if (this.#byTool.size >= maxCachedTools) this.#byTool.clear();
    this.#byTool.set(tool, candidates);
    return candidates;
  }
}

/** Of two rules with `confirm`, the one that requires the queue is stricter. */
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
      // The gateway does not start with wrong conditions.
      return condition.kind === "wrong" ? [] : [{ path: pathOf(name), ...argumentTest(condition) }];
    }),
  };
}

function deviceTest(reference: string, idOf: (reference: string) => string) {
  if (!isGlob(reference)) return ({ id }: RuledDevice) => id === idOf(reference);
  const glob = compileGlob(reference);
  return ({ id, alias }: RuledDevice) => glob(id) || glob(alias);
}

/** An argument's name, or a JSON pointer to a nested one. */
function pathOf(name: string): string[] {
  if (!name.startsWith("/")) return [name];
  return name
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function matches(rule: Rule, principal: Principal, device: RuledDevice): boolean {
  if (rule.principal !== undefined && !rule.principal(principal.name) && !rule.principal(principal.id))
    return false;
  if (rule.device !== undefined && !rule.device(device)) return false;
  const { tag } = rule;
  return tag === undefined || device.tags.some((one) => tag(one));
}

/** Whether every condition holds. For `allow` all values must match; for the other effects one is enough. */
function holds(rule: Rule, args: JsonObject, schema: JsonObject | undefined): boolean {
  return rule.args.every(({ path, present, fits }) => {
    if (present !== undefined) return isGiven(args, path) === present;
    const values = valuesAt(args, schema, path);
    return values.length > 0 && (rule.effect === "allow" ? values.every(fits) : values.some(fits));
  });
}

/**
 * The values that a device may use for this argument. Boards ignore case in names, and use the schema's default if the
 * argument is absent. Of a list, each element counts.
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

function spellings(object: unknown, name: string): unknown[] {
  if (typeof object !== "object" || object === null) return [];
  const wanted = name.toLowerCase();
  return Object.entries(object)
    .filter(([key]) => key === name || key.toLowerCase() === wanted)
    .map(([, value]) => value as unknown);
}

function memberOf(object: unknown, name: string): unknown {
  return typeof object === "object" && object !== null && Object.hasOwn(object, name)
    ? (object as JsonObject)[name]
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
 * Patterns of the configuration: `*` matches any text, also an empty one; every other character matches itself. They are
 * not regular expressions, so that matching takes linear time.
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
