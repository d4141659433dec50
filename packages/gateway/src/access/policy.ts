/**
 * May this principal make this call? Scopes, rules and the hosts of addresses together, for every door: a call is
 * refused here, or goes on as it is, or goes on once a person has said yes [ACC-1…8].
 */
import {
  type Audience,
  didYouMean,
  inlineReferences,
  type JsonObject,
  nearNames,
  type ToolDefinition,
} from "@tendon/protocol";
import type { AccessSettings } from "../access-settings.ts";
import { TendonError } from "../errors.ts";
import { type Access, hasScope, type Principal } from "./principal.ts";
import { type RuledDevice, Rules, type Verdict } from "./rules.ts";
import { UrlHosts, type UrlProblem } from "./url-hosts.ts";

/** What still stands between a call and its device. */
export interface Ruling {
  /** A person's word is needed. */
  readonly confirm: Verdict | undefined;
  /** Without that word the caller could not even try: its own say does not count for it. */
  readonly elevated: boolean;
  /** Addresses that are none; told with what else is wrong with the arguments. */
  readonly malformed: readonly UrlProblem[];
}

/** A device that says what it can do. */
interface Offering {
  readonly catalogue: { tools(): readonly ToolDefinition[] };
}

/**
 * The firmware runs user-only tools for anybody who knows their name: this is the only guard there is.
 * A tool that is not listed and may be called all the same counts as one [CTL-5].
 */
const unlistedAudience: Audience = "user";
const none: readonly UrlProblem[] = [];

export class Policy {
  readonly #rules: Rules;
  readonly #urls: UrlHosts;
  readonly #isQuarantined: (device: string, tool: string) => boolean;

  constructor(
    settings: Omit<AccessSettings, "quarantine">,
    idOf: (reference: string) => string,
    isQuarantined: (device: string, tool: string) => boolean = () => false,
  ) {
    this.#isQuarantined = isQuarantined;
    this.#rules = new Rules(settings, idOf);
    this.#urls = new UrlHosts(settings.urlHosts);
  }

  /** Refuses, in the order of the codes; `undefined` is a call that goes on as it is. */
  judge(
    principal: Principal,
    device: RuledDevice & Partial<Offering>,
    tool: string,
    definition: ToolDefinition | undefined,
    args: JsonObject,
    unlisted: boolean,
  ): Ruling | undefined {
    const verdict = this.#rules.idle
      ? undefined
      : this.#rules.judge(
          principal,
          device,
          tool,
          args,
          definition && inlineReferences(definition.inputSchema),
        );
    if (verdict?.effect === "deny") throw denied(tool, verdict);
    if (definition === undefined && !unlisted) {
      const near = didYouMean(this.#near(principal, device, tool));
      throw new TendonError("tool_unknown", `\`${device.alias}\` has no tool \`${tool}\`${near}`);
    }
    if (definition !== undefined && this.#isQuarantined(device.id, tool)) throw quarantined(tool);
    const audience = definition?.audience ?? unlistedAudience;
    const elevated = audience === "user" && !hasScope(principal, "call:user");
    const confirm = verdict?.effect === "confirm" ? verdict : undefined;
    // The default is no rule: it opens nothing that a scope keeps shut.
    if (elevated && confirm?.byRule !== true) throw forPeopleOnly(tool);
    const urls = this.#urls.problems(args, definition);
    if (confirm === undefined && urls === undefined) return undefined;
    const malformed = urls ?? none;
    const elsewhere = malformed.filter((problem) => !problem.malformed);
    if (elsewhere.length > 0) throw leadsElsewhere(elsewhere);
    return { confirm, elevated, malformed };
  }

  /** What a list of tools says of one: the mildest that some call of it could meet. */
  accessTo(
    principal: Principal,
    device: RuledDevice,
    tool: { readonly name: string; readonly audience: Audience },
  ): { readonly access: Access; readonly argumentsDecide: boolean } {
    const shut = tool.audience === "user" && !hasScope(principal, "call:user");
    if (!hasScope(principal, "call") || this.#isQuarantined(device.id, tool.name))
      return { access: "denied", argumentsDecide: false };
    if (this.#rules.idle) return { access: shut ? "denied" : "allowed", argumentsDecide: false };
    const { verdict, possible, argumentsDecide } = this.#rules.mildest(principal, device, tool.name);
    if (verdict.effect === "deny") return { access: "denied", argumentsDecide };
    if (!shut) return { access: verdict.effect === "confirm" ? "confirm" : "allowed", argumentsDecide };
    const opens = possible.some(({ effect, byRule }) => effect === "confirm" && byRule);
    return { access: opens ? "confirm" : "denied", argumentsDecide: opens && argumentsDecide };
  }

  /** Tools that may have been meant, of those that this principal may know of and call. */
  #near(principal: Principal, device: RuledDevice & Partial<Offering>, tool: string): string[] {
    if (!hasScope(principal, "read")) return [];
    const tools = new Map(device.catalogue?.tools().map((known) => [known.name, known]));
    return nearNames(tool, tools.keys(), (name) => {
      const known = tools.get(name);
      if (known === undefined || (known.audience === "user" && !hasScope(principal, "call:user")))
        return false;
      return this.accessTo(principal, device, known).access !== "denied";
    });
  }

  mayConfirm(tool: string): boolean {
    return this.#rules.mayConfirm(tool);
  }
}

function denied(tool: string, { reason, byRule }: Verdict): TendonError {
  const why = reason ?? (byRule ? "a rule denies it" : "no rule allows it");
  return new TendonError("forbidden", `\`${tool}\` may not be called so: ${why}`);
}

function quarantined(tool: string): TendonError {
  const detail = `\`${tool}\` is not what it was when it was first seen; an operator has to accept it`;
  return new TendonError("forbidden", detail, { quarantined: true });
}

function forPeopleOnly(tool: string): TendonError {
  return new TendonError("forbidden", `\`${tool}\` is for people only: it needs the scope \`call:user\``, {
    scope: "call:user",
  });
}

function leadsElsewhere(problems: readonly UrlProblem[]): TendonError {
  const errors = problems.slice(0, 20).map(({ path, message }) => ({ path, message }));
  const [first] = errors;
  return new TendonError("forbidden", `${first?.path} ${first?.message}`, { errors });
}
