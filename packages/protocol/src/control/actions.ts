import { isObject } from "../outcome.ts";
import type { ArgumentProblem } from "../tools/arguments.ts";
import type { Action, ActionArgument, ActionMap, Composition, ResultField } from "./action-map.ts";
import { messageFields } from "./message.ts";

/** An action with its resolved name and function. */
export interface KnownAction {
  readonly name: string;
  readonly function: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, ActionArgument>>;
  readonly compose: Composition | undefined;
  readonly result: Readonly<Record<string, ResultField>>;
}

export interface MapProblem {
  /** Path in the map: the action's name and the key below it. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Actions by name, alias and function; later maps replace actions of earlier ones by name. */
export class Actions {
  readonly #byName = new Map<string, KnownAction>();
  readonly #byFunction = new Map<string, KnownAction>();

  private constructor(actions: readonly KnownAction[], aliases: ReadonlyMap<string, string>) {
    for (const action of actions) {
      this.#byName.set(action.name, action);
      if (!this.#byFunction.has(action.function)) this.#byFunction.set(action.function, action);
    }
    for (const [alias, name] of aliases) {
      const action = this.#byName.get(name);
      if (action !== undefined) this.#byName.set(alias, action);
    }
  }

  /** `checkActions` reports problems. Of two actions with the same name, the first one keeps it. */
  static of(...maps: readonly ActionMap[]): Actions {
    const merged: ActionMap = Object.assign({}, ...maps);
    const aliases = new Map<string, string>();
    const actions = Object.entries(merged).map(([name, action]): KnownAction => {
      for (const alias of action.aliases ?? [])
        if (!Object.hasOwn(merged, alias) && !aliases.has(alias)) aliases.set(alias, name);
      return {
        name,
        function: functionOf(name, action),
        tool: action.tool,
        arguments: action.arguments ?? {},
        compose: action.compose,
        result: action.result ?? {},
      };
    });
    return new Actions(actions, aliases);
  }

  byName(name: string): KnownAction | undefined {
    return this.#byName.get(name);
  }

  byFunction(name: string): KnownAction | undefined {
    return this.#byFunction.get(name);
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }
}

function functionOf(name: string, action: Action): string {
  return action.function ?? `self_${name}`;
}

/** Problems of a map beyond its schema: duplicate names, a minimum above the maximum, a step that is not an argument. */
export function checkActions(added: ActionMap, base: ActionMap): MapProblem[] {
  const problems: MapProblem[] = [];
  const merged: ActionMap = { ...base, ...added };
  const functions = new Map<string, string>();
  for (const [name, action] of Object.entries(merged)) {
    const taken = functions.get(functionOf(name, action));
    if (taken !== undefined && Object.hasOwn(added, name)) {
      problems.push({ path: [name, "function"], message: `is already the function of \`${taken}\`` });
    }
    functions.set(functionOf(name, action), name);
  }
  const aliases = new Map<string, string>();
  for (const [name, action] of Object.entries(merged)) {
    for (const alias of action.aliases ?? []) {
      const taken = aliases.get(alias);
      const why = Object.hasOwn(merged, alias)
        ? "is the name of another action"
        : taken === undefined
          ? undefined
          : `is already an alias of \`${taken}\``;
      if (why !== undefined && Object.hasOwn(added, name))
        problems.push({ path: [name, "aliases"], message: `\`${alias}\` ${why}` });
      aliases.set(alias, name);
    }
  }
  for (const [name, action] of Object.entries(added)) {
    problems.push(
      ...checkArguments(name, action),
      ...checkComposition(name, action),
      ...checkResult(name, action),
    );
  }
  return problems;
}

function checkArguments(name: string, { arguments: args = {} }: Action): MapProblem[] {
  const problems: MapProblem[] = [];
  const owners = new Map<string, string>();
  for (const [argument, { type, minimum, maximum, aliases = [] }] of Object.entries(args)) {
    const path = [name, "arguments", argument];
    const bounded = minimum !== undefined || maximum !== undefined;
    if (type !== "integer" && bounded)
      problems.push({ path, message: "has bounds, but only integers can have bounds" });
    if (minimum !== undefined && maximum !== undefined && minimum > maximum)
      problems.push({ path, message: "has a minimum above its maximum" });
    if (messageFields.has(argument) && aliases.length === 0) {
      const message = "is reserved in messages: give it another name in `aliases`";
      problems.push({ path, message });
    }
    for (const field of [argument, ...aliases]) {
      const at = field === argument ? path : [...path, "aliases"];
      const owner = owners.get(field);
      if (owner !== undefined && owner !== argument)
        problems.push({ path: at, message: `\`${field}\` is already a name of \`${owner}\`` });
      else if (field !== argument && messageFields.has(field))
        problems.push({ path: at, message: `\`${field}\` is reserved in messages` });
      owners.set(field, owner ?? argument);
    }
  }
  return problems;
}

function checkComposition(name: string, { compose, arguments: args = {} }: Action): MapProblem[] {
  if (compose?.adjust === undefined) return [];
  const { by, minimum, maximum } = compose.adjust;
  const problems: MapProblem[] = [];
  if (args[by.argument]?.type !== "integer") {
    problems.push({
      path: [name, "compose", "adjust", "by"],
      message: `\`${by.argument}\` is not one of the action's integer arguments`,
    });
  }
  if (minimum > maximum) {
    problems.push({ path: [name, "compose", "adjust"], message: "has a minimum above its maximum" });
  }
  return problems;
}

function checkResult(name: string, { result = {}, arguments: args = {} }: Action): MapProblem[] {
  return Object.entries(result).flatMap(([field, { argument }]) => {
    if (argument === undefined || Object.hasOwn(args, argument)) return [];
    const message = `\`${argument}\` is not one of the action's arguments`;
    return [{ path: [name, "result", field], message }];
  });
}

/** Reads a dotted path of a tool's answer. */
export function valueAt(answer: unknown, path: string): unknown {
  let value = answer;
  for (const key of path.split("."))
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

export type ReadArguments =
  | { readonly ok: true; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[] };

/** [CTL-3] Reads an action's arguments from a message's fields: typed and in range. Zero is kept, and nothing is guessed. */
export function readArguments(action: KnownAction, fields: Readonly<Record<string, unknown>>): ReadArguments {
  const found: Record<string, unknown> = {};
  const problems: ArgumentProblem[] = [];
  for (const [name, rule] of Object.entries(action.arguments)) {
    const field = [name, ...(rule.aliases ?? [])].find(
      (key) => fields[key] !== undefined && fields[key] !== null,
    );
    if (field === undefined) {
      if (rule.required === true) problems.push({ path: `/${name}`, message: "is required" });
      continue;
    }
    const why = whyNot(fields[field], rule);
    if (why === undefined) found[name] = fields[field];
    else problems.push({ path: `/${field}`, message: why });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, arguments: found };
}

function whyNot(value: unknown, { type, minimum, maximum }: ActionArgument): string | undefined {
  if (type === "integer") {
    if (typeof value !== "number" || !Number.isInteger(value)) return "must be an integer";
    if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
    if (maximum !== undefined && value > maximum) return `must be at most ${maximum}`;
    return undefined;
  }
  return typeof value === type ? undefined : `must be a ${type}`;
}
