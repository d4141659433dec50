/**
 * Addresses among a call's arguments [ACC-5…7]. The device connects to them from inside its network. So every string
 * that is an address by its name or its schema must have a host in `access.urlHosts`. Arguments that cannot be checked
 * are rejected.
 */
import {
  type ArgumentProblem,
  isAddressName,
  type JsonObject,
  limits,
  looksLikeAddress,
  mayBeAddressName,
  pointerPart,
  type ToolDefinition,
} from "@tendon/protocol";
import { type AllowedHost, readAllowedHost } from "../access-settings.ts";
import { type AddressFault, addressFault } from "./address-check.ts";
import { AddressPlan, type ApplicableSchemas, type Declared, defaultIn } from "./address-plan.ts";

export interface UrlProblem extends ArgumentProblem, AddressFault {}

/** Whether a string is an address by the names above it: yes, only if it looks like one, or no. */
type Named = "yes" | "perhaps" | "no";

const maxCachedNames = 1_000;
const unknownSchema: ApplicableSchemas = [];

export class UrlHosts {
  readonly #hosts: readonly AllowedHost[];
  /** Whether an argument is an address by its name. */
  readonly #named = new Map<string, boolean>();
  readonly #plans = new WeakMap<ToolDefinition, AddressPlan>();

  constructor(hosts: readonly string[]) {
    this.#hosts = hosts.flatMap((written) => readAllowedHost(written) ?? []);
  }

  /** The problems of the addresses among the arguments; `undefined` if there are none. */
  problems(args: JsonObject, tool: ToolDefinition | undefined): readonly UrlProblem[] | undefined {
    const plan = tool === undefined ? undefined : this.#planOf(tool);
    if (plan?.needsSchema !== true && !this.#hasCandidates(args, plan)) return undefined;
    const found = new Walk(plan, this.#hosts, (name) => this.#isNamed(name)).problems(args);
    return found.length === 0 ? undefined : found;
  }

  /** A quick check without allocations: nearly every call has only numbers and short strings. */
  #hasCandidates(args: JsonObject, plan: AddressPlan | undefined): boolean {
    for (const name in args) {
      const value = args[name];
      if (typeof value === "object" && value !== null) return true;
      if (typeof value !== "string") continue;
      if (this.#isNamed(name) || (plan === undefined ? mayBeAddressName(name) : plan.declaresAddress(name)))
        return true;
    }
    return false;
  }

  #isNamed(name: string): boolean {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const is = isAddressName(name);
    if (this.#named.size >= maxCachedNames) this.#named.clear();
    this.#named.set(name, is);
    return is;
  }

  #planOf(tool: ToolDefinition): AddressPlan {
    const known = this.#plans.get(tool);
    if (known !== undefined) return known;
    const plan = new AddressPlan(tool);
    this.#plans.set(tool, plan);
    return plan;
  }
}

class TooManySteps extends RangeError {
  override readonly name = "TooManySteps";
}

/** One walk through a call's arguments, with the schemas that apply at each position. */
class Walk {
  readonly #plan: AddressPlan | undefined;
  readonly #hosts: readonly AllowedHost[];
  readonly #isNamed: (name: string) => boolean;
  readonly #given: UrlProblem[] = [];
  readonly #defaults: UrlProblem[] = [];
  #steps = 0;

  constructor(
    plan: AddressPlan | undefined,
    hosts: readonly AllowedHost[],
    isNamed: (name: string) => boolean,
  ) {
    this.#plan = plan;
    this.#hosts = hosts;
    this.#isNamed = isNamed;
  }

  problems(args: JsonObject): UrlProblem[] {
    try {
      const top = this.#plan?.needsSchema === true ? this.#plan.top : unknownSchema;
      this.#walk(args, "", "no", top, 0, this.#given);
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      return [{ path: "", malformed: true, message: "are too complex to check" }];
    }
    const all = [...this.#given, ...this.#defaults];
    return [...new Map(all.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
  }

  #walk(
    value: unknown,
    path: string,
    named: Named,
    applicable: ApplicableSchemas,
    depth: number,
    found: UrlProblem[],
  ): void {
    this.#spend(1 + applicable.length);
    if (typeof value === "string") this.#judge(value, path, named, applicable, found);
    // The check of the arguments rejects nesting deeper than this.
    else if (typeof value !== "object" || value === null || depth > limits.callArgumentDepth.max) return;
    else if (Array.isArray(value)) this.#walkItems(value, path, named, applicable, depth, found);
    else this.#walkMembers(value as JsonObject, path, named, applicable, depth, found);
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > limits.addressSearchSteps.max) throw new TooManySteps("too many steps");
  }

  #judge(text: string, path: string, named: Named, applicable: ApplicableSchemas, found: UrlProblem[]): void {
    const is = named === "yes" || (applicable.length > 0 && this.#plan?.isAddress(applicable) === true);
    if (!is && (named === "no" || !looksLikeAddress(text))) return;
    const fault = addressFault(text, this.#hosts);
    if (fault !== undefined) found.push({ path, ...fault });
  }

  #walkItems(
    items: readonly unknown[],
    path: string,
    named: Named,
    applicable: ApplicableSchemas,
    depth: number,
    found: UrlProblem[],
  ): void {
    const below = applicable.length === 0 ? applicable : (this.#plan?.item(applicable) ?? unknownSchema);
    for (const [index, item] of items.entries())
      this.#walk(item, `${path}/${index}`, named, below, depth + 1, found);
  }

  #walkMembers(
    members: JsonObject,
    path: string,
    named: Named,
    applicable: ApplicableSchemas,
    depth: number,
    found: UrlProblem[],
  ): void {
    const plan = this.#plan;
    if (applicable.length > 0 && plan !== undefined)
      this.#walkDefaults(members, path, applicable, depth, plan);
    const namesCount = applicable.length > 0 && plan?.areNamesAddresses(applicable) === true;
    for (const [name, value] of Object.entries(members)) {
      this.#spend(applicable.length);
      const at = `${path}/${pointerPart(name)}`;
      if (namesCount) this.#judge(name, at, "yes", unknownSchema, found);
      const below =
        applicable.length === 0 || plan === undefined ? applicable : plan.member(applicable, name);
      this.#walk(value, at, this.#namedBy(name, named), below, depth + 1, found);
    }
  }

  #namedBy(name: string, above: Named): Named {
    if (this.#isNamed(name) || this.#plan?.declaresAddress(name) === true) return "yes";
    // The declared names of an unlisted tool are unknown.
    return above !== "no" || (this.#plan === undefined && mayBeAddressName(name)) ? "perhaps" : "no";
  }

  /**
   * A device also connects to an address that is a default. Boards use the default if the first value is null or of
   * another type.
   */
  #walkDefaults(
    members: JsonObject,
    path: string,
    applicable: ApplicableSchemas,
    depth: number,
    plan: AddressPlan,
  ): void {
    const given = new Map<string, unknown[]>();
    for (const [name, value] of Object.entries(members)) {
      const lower = name.toLowerCase();
      given.set(lower, [...(given.get(lower) ?? []), value]);
    }
    for (const schema of applicable) {
      for (const [lower, declared] of plan.declaredIn(schema)) {
        this.#spend(1);
        for (const one of declared) this.#walkDefault(one, given.get(lower) ?? [], path, depth);
      }
    }
  }

  #walkDefault({ name, applicable }: Declared, given: readonly unknown[], path: string, depth: number): void {
    const value = defaultIn(applicable);
    // An empty string is the usual default for no address.
    if (value === undefined || value === "") return;
    if (given.length > 0 && given.every((one) => alike(one, value))) return;
    const found: UrlProblem[] = [];
    const at = `${path}/${pointerPart(name)}`;
    this.#walk(value, at, this.#namedBy(name, "no"), applicable, depth + 1, found);
    for (const problem of found) {
      const why = problem.malformed ? "is not an address" : problem.message;
      this.#defaults.push({ ...problem, message: `is required: its default ${why}` });
    }
  }
}

function alike(one: unknown, other: unknown): boolean {
  return one !== null && typeof one === typeof other && Array.isArray(one) === Array.isArray(other);
}
