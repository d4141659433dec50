/**
 * Addresses among a call's arguments [ACC-5…7]. It is the device that goes there, from inside the network it stands
 * in, so it goes only where the settings say: every text that is an address by its name or its schema, wherever it
 * stands, has to lead to a host of `access.urlHosts`. What cannot be judged is refused.
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
import { AddressPlan, type Declared, defaultIn, type Holding } from "./address-plan.ts";

export interface UrlProblem extends ArgumentProblem, AddressFault {}

/** What the names above a text say: it is an address, it is if it looks like one, or nothing. */
type Named = "yes" | "perhaps" | "no";

const namesRemembered = 1_000;
const unknownSchema: Holding = [];

export class UrlHosts {
  readonly #hosts: readonly AllowedHost[];
  /** Whether an argument's name says that it is an address. */
  readonly #named = new Map<string, boolean>();
  readonly #plans = new WeakMap<ToolDefinition, AddressPlan>();

  constructor(hosts: readonly string[]) {
    this.#hosts = hosts.flatMap((written) => readAllowedHost(written) ?? []);
  }

  /** What is wrong with the addresses among the arguments; `undefined` for nothing. */
  problems(args: JsonObject, tool: ToolDefinition | undefined): readonly UrlProblem[] | undefined {
    const plan = tool === undefined ? undefined : this.#planOf(tool);
    if (plan?.needsSchema !== true && !this.#hasCandidates(args, plan)) return undefined;
    const found = new Walk(plan, this.#hosts, (name) => this.#isNamed(name)).problems(args);
    return found.length === 0 ? undefined : found;
  }

  /** Nearly every call has numbers and short texts: nothing is made for those. */
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
    if (this.#named.size >= namesRemembered) this.#named.clear();
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

class TooMuchToWalk extends RangeError {
  override readonly name = "TooMuchToWalk";
}

/** One way through a call's arguments, with the schemas that hold at each place. */
class Walk {
  readonly #plan: AddressPlan | undefined;
  readonly #hosts: readonly AllowedHost[];
  readonly #isNamed: (name: string) => boolean;
  readonly #given: UrlProblem[] = [];
  readonly #left: UrlProblem[] = [];
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
      this.#look(args, "", "no", top, 0, this.#given);
    } catch (error) {
      if (!(error instanceof TooMuchToWalk)) throw error;
      return [{ path: "", malformed: true, message: "are too complex to check" }];
    }
    const all = [...this.#given, ...this.#left];
    return [...new Map(all.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
  }

  #look(
    value: unknown,
    path: string,
    named: Named,
    holding: Holding,
    depth: number,
    found: UrlProblem[],
  ): void {
    this.#spend(1 + holding.length);
    if (typeof value === "string") this.#judge(value, path, named, holding, found);
    // Nesting beyond what a device can take is refused with the other arguments.
    else if (typeof value !== "object" || value === null || depth > limits.callArgumentDepth.max) return;
    else if (Array.isArray(value)) this.#lookAtItems(value, path, named, holding, depth, found);
    else this.#lookAtMembers(value as JsonObject, path, named, holding, depth, found);
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > limits.addressSearchSteps.max) throw new TooMuchToWalk("too many steps");
  }

  #judge(text: string, path: string, named: Named, holding: Holding, found: UrlProblem[]): void {
    const is = named === "yes" || (holding.length > 0 && this.#plan?.isAddress(holding) === true);
    if (!is && (named === "no" || !looksLikeAddress(text))) return;
    const fault = addressFault(text, this.#hosts);
    if (fault !== undefined) found.push({ path, ...fault });
  }

  #lookAtItems(
    items: readonly unknown[],
    path: string,
    named: Named,
    holding: Holding,
    depth: number,
    found: UrlProblem[],
  ): void {
    const below = holding.length === 0 ? holding : (this.#plan?.item(holding) ?? unknownSchema);
    for (const [index, item] of items.entries())
      this.#look(item, `${path}/${index}`, named, below, depth + 1, found);
  }

  #lookAtMembers(
    members: JsonObject,
    path: string,
    named: Named,
    holding: Holding,
    depth: number,
    found: UrlProblem[],
  ): void {
    const plan = this.#plan;
    if (holding.length > 0 && plan !== undefined) this.#lookAtDefaults(members, path, holding, depth, plan);
    const namesCount = holding.length > 0 && plan?.areNamesAddresses(holding) === true;
    for (const [name, value] of Object.entries(members)) {
      this.#spend(holding.length);
      const at = `${path}/${pointerPart(name)}`;
      if (namesCount) this.#judge(name, at, "yes", unknownSchema, found);
      const below = holding.length === 0 || plan === undefined ? holding : plan.member(holding, name);
      this.#look(value, at, this.#nameSays(name, named), below, depth + 1, found);
    }
  }

  #nameSays(name: string, above: Named): Named {
    if (this.#isNamed(name) || this.#plan?.declaresAddress(name) === true) return "yes";
    // Of a tool that is not listed it is not known which names it declares.
    return above !== "no" || (this.#plan === undefined && mayBeAddressName(name)) ? "perhaps" : "no";
  }

  /**
   * The device goes where a default leads as it goes where a call sends it. Boards take the default also where the
   * first value they find is null or of another type.
   */
  #lookAtDefaults(
    members: JsonObject,
    path: string,
    holding: Holding,
    depth: number,
    plan: AddressPlan,
  ): void {
    const given = new Map<string, unknown[]>();
    for (const [name, value] of Object.entries(members)) {
      const lower = name.toLowerCase();
      given.set(lower, [...(given.get(lower) ?? []), value]);
    }
    for (const schema of holding) {
      for (const [lower, declared] of plan.declaredIn(schema)) {
        this.#spend(1);
        for (const one of declared) this.#lookAtDefault(one, given.get(lower) ?? [], path, depth);
      }
    }
  }

  #lookAtDefault({ name, holding }: Declared, given: readonly unknown[], path: string, depth: number): void {
    const value = defaultIn(holding);
    // An empty text is the usual way to say that there is none, and it leads nowhere.
    if (value === undefined || value === "") return;
    if (given.length > 0 && given.every((one) => alike(one, value))) return;
    const found: UrlProblem[] = [];
    const at = `${path}/${pointerPart(name)}`;
    this.#look(value, at, this.#nameSays(name, "no"), holding, depth + 1, found);
    for (const problem of found) {
      const why = problem.malformed ? "is no address" : problem.message;
      this.#left.push({ ...problem, message: `is required: its default ${why}` });
    }
  }
}

function alike(one: unknown, other: unknown): boolean {
  return one !== null && typeof one === typeof other && Array.isArray(one) === Array.isArray(other);
}
