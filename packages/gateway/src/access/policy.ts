/**
 * Authorizes calls for every interface, by scopes, rules and the hosts of addresses: a call is rejected, allowed, or
 * allowed once a person approves it [ACC-1…8].
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

/** The conditions under which a call may run. */
export interface Ruling {
  /** Set if a person must approve the call. */
  readonly confirm: Verdict | undefined;
  /** The caller lacks `call:user`, so only the approvals queue can approve the call. */
  readonly elevated: boolean;
  /** Malformed addresses, which are reported with the other invalid arguments. */
  readonly malformed: readonly UrlProblem[];
}

interface WithCatalogue {
  readonly catalogue: { tools(): readonly ToolDefinition[] };
}

/**
 * The firmware itself does not restrict user-only tools; the gateway is the only guard. An unlisted tool that may be
 * called anyway counts as user-only [CTL-5].
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

  /** Throws in the contract's order of error codes; `undefined` if the call may run without conditions. */
  judge(
    principal: Principal,
    device: RuledDevice & Partial<WithCatalogue>,
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
    // Only a rule with `confirm` allows what the scope does not; `access.default` never does.
    if (elevated && confirm?.byRule !== true) throw userOnly(tool);
    const urls = this.#urls.problems(args, definition);
    if (confirm === undefined && urls === undefined) return undefined;
    const malformed = urls ?? none;
    const notAllowed = malformed.filter((problem) => !problem.malformed);
    if (notAllowed.length > 0) throw addressesNotAllowed(notAllowed);
    return { confirm, elevated, malformed };
  }

  /** The access that a list of tools shows: the least strict that any call of the tool could get. */
  accessTo(
    principal: Principal,
    device: RuledDevice,
    tool: { readonly name: string; readonly audience: Audience },
  ): { readonly access: Access; readonly argumentsDecide: boolean } {
    const restricted = tool.audience === "user" && !hasScope(principal, "call:user");
    if (!hasScope(principal, "call") || this.#isQuarantined(device.id, tool.name))
      return { access: "denied", argumentsDecide: false };
    if (this.#rules.idle) return { access: restricted ? "denied" : "allowed", argumentsDecide: false };
    const { verdict, possible, argumentsDecide } = this.#rules.leastStrict(principal, device, tool.name);
    if (verdict.effect === "deny") return { access: "denied", argumentsDecide };
    if (!restricted) return { access: verdict.effect === "confirm" ? "confirm" : "allowed", argumentsDecide };
    const opens = possible.some(({ effect, byRule }) => effect === "confirm" && byRule);
    return { access: opens ? "confirm" : "denied", argumentsDecide: opens && argumentsDecide };
  }

  /** Tools with similar names, of those that this principal may see and call. */
  #near(principal: Principal, device: RuledDevice & Partial<WithCatalogue>, tool: string): string[] {
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
  return new TendonError("forbidden", `this call of \`${tool}\` is not allowed: ${why}`);
}

function quarantined(tool: string): TendonError {
  const detail = `\`${tool}\` has changed since it was accepted; an operator must accept the change first`;
  return new TendonError("forbidden", detail, { quarantined: true });
}

function userOnly(tool: string): TendonError {
  return new TendonError("forbidden", `\`${tool}\` is a user-only tool: it needs the scope \`call:user\``, {
    scope: "call:user",
  });
}

function addressesNotAllowed(problems: readonly UrlProblem[]): TendonError {
  const errors = problems.slice(0, 20).map(({ path, message }) => ({ path, message }));
  const [first] = errors;
  return new TendonError("forbidden", `${first?.path} ${first?.message}`, { errors });
}
