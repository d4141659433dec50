/** The settings of access: rules, allowed hosts and rates, with the checks that a schema cannot express. */

import { limits } from "@tendon/protocol";
import Type, { type Static } from "typebox";

const strict = { additionalProperties: false };
const pattern = (description: string) =>
  Type.String({ minLength: 1, maxLength: limits.accessPatternLength.max, description });

const AccessRule = Type.Object(
  {
    device: Type.Optional(pattern("A device by id or alias; in patterns `*` is any text")),
    tag: Type.Optional(pattern("Devices that have this tag")),
    tool: Type.Optional(pattern("Tools by the device's own name")),
    args: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        minProperties: 1,
        maxProperties: 16,
        description:
          "Conditions by argument name: a value, a list of values, `{min, max}`, `{pattern}` or `{present}`",
      }),
    ),
    principal: Type.Optional(pattern("Who asks: a token's name or id")),
    effect: Type.Enum(["allow", "confirm", "deny"], {
      description: "`deny` overrides `confirm`, and `confirm` overrides `allow`",
    }),
    via: Type.Optional(
      Type.Enum(["any", "queue"], {
        description:
          "With `confirm`: `queue` always uses the approvals queue; `any` (default) also accepts the approval of the person in front of an MCP client",
      }),
    ),
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "A short text for the caller and for the person who decides",
      }),
    ),
  },
  strict,
);
export type AccessRule = Static<typeof AccessRule>;

export const AccessSettings = Type.Object(
  {
    rules: Type.Array(AccessRule, {
      default: [],
      maxItems: limits.accessRules.max,
      description: "Access rules: `{device?, tag?, tool?, args?, principal?, effect}`",
      page: "guides/access.md",
    }),
    default: Type.Enum(["allow", "confirm", "deny"], {
      default: "allow",
      description: "The effect for a call that no rule matches",
    }),
    quarantine: Type.Boolean({
      default: true,
      description:
        "Quarantine a known tool that has changed until an operator accepts it: `tendon device changes`, `tendon device accept`. `false` only reports the change",
    }),
    urlHosts: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
      default: [],
      maxItems: limits.urlHosts.max,
      description:
        "Allowed hosts of URL arguments (`url`, `uri`, …), such as `files.example` or `*.example`; none by default",
    }),
  },
  strict,
);
export type AccessSettings = Static<typeof AccessSettings>;

function rate(perSecond: number, burst: number, what: string) {
  return Type.Object(
    {
      perSecond: Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        default: perSecond,
        description: `${what}, sustained rate per second`,
      }),
      burst: Type.Integer({
        minimum: 1,
        maximum: 10_000_000,
        default: burst,
        description: `${what}, burst`,
      }),
    },
    strict,
  );
}

/** The defaults are above what one gateway can serve, so that they stop floods only. */
export const RateSettings = Type.Object(
  {
    principal: rate(20_000, 40_000, "Requests of one token"),
    address: rate(20_000, 40_000, "Requests from one address, devices apart"),
    failedSignIns: rate(10, 500, "Failed sign-ins from one address"),
  },
  strict,
);

export interface SettingProblem {
  readonly path: string[];
  readonly message: string;
}

/** The condition of a rule for one argument. */
export type Condition =
  | { readonly kind: "equal"; readonly values: readonly unknown[] }
  | { readonly kind: "range"; readonly min: number; readonly max: number }
  | { readonly kind: "pattern"; readonly pattern: string }
  | { readonly kind: "present"; readonly present: boolean };

type ReadCondition = Condition | { readonly kind: "wrong"; readonly message: string };

const shapes = "must be a value, a list of values, {min, max}, {pattern} or {present}";

/** Parses a condition from the configuration. */
export function readCondition(written: unknown): ReadCondition {
  if (isPlain(written)) return { kind: "equal", values: [written] };
  if (Array.isArray(written)) {
    if (written.length > 0 && written.length <= 100 && written.every(isPlain)) {
      return { kind: "equal", values: written };
    }
    return { kind: "wrong", message: "must list 1 to 100 texts, numbers, booleans or null" };
  }
  if (typeof written !== "object" || written === null) return { kind: "wrong", message: shapes };
  const { min, max, pattern, present, ...rest } = written as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return { kind: "wrong", message: `has \`${unknown}\`; it ${shapes}` };
  if (min !== undefined || max !== undefined) {
    if (pattern !== undefined || present !== undefined) return { kind: "wrong", message: shapes };
    return readRange(min, max);
  }
  if (present !== undefined) {
    return typeof present === "boolean" && pattern === undefined
      ? { kind: "present", present }
      : { kind: "wrong", message: shapes };
  }
  if (typeof pattern !== "string" || pattern === "" || pattern.length > limits.accessPatternLength.max) {
    return { kind: "wrong", message: shapes };
  }
  return { kind: "pattern", pattern };
}

function readRange(min: unknown, max: unknown): ReadCondition {
  const from = min ?? -Infinity;
  const to = max ?? Infinity;
  if (typeof from !== "number" || typeof to !== "number" || Number.isNaN(from) || Number.isNaN(to)) {
    return { kind: "wrong", message: "must have numbers as min and max" };
  }
  return from > to
    ? { kind: "wrong", message: "has a min above its max" }
    : { kind: "range", min: from, max: to };
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** A host that URL arguments may have. */
export interface AllowedHost {
  readonly protocol: string | undefined;
  /** Lower case. `*` is any public host, `*.example` any name below example. */
  readonly host: string;
  readonly port: string | undefined;
}

/** Parses `[http(s)://]host[:port]`; `undefined` if it is not valid. */
export function readAllowedHost(written: string): AllowedHost | undefined {
  const [, protocol, host = "", port] =
    /^(https?:)?(?:\/\/)?(\[[0-9a-f:.]+\]|[^/:@?#[\]\s]+)(?::(\d{1,5}))?\/?$/i.exec(written) ?? [];
  if (host === "" || (written.includes("//") && protocol === undefined)) return undefined;
  const name = host.toLowerCase();
  if (name === "*") return { protocol, host: name, port };
  const bare = name.startsWith("*.") ? name.slice(2) : name;
  if (bare.includes("*")) return undefined;
  try {
    // The host must be in normalised form: any other form would never equal the host of a URL.
    if (new URL(`http://${bare}/`).hostname !== bare) return undefined;
  } catch {
    return undefined;
  }
  return { protocol: protocol?.toLowerCase(), host: name, port };
}

/** The problems that the schema cannot find, with their places. */
export function checkAccess({ rules, urlHosts }: AccessSettings): SettingProblem[] {
  const wrongHosts = urlHosts.flatMap((host, index): SettingProblem[] =>
    readAllowedHost(host) === undefined
      ? [
          {
            path: ["urlHosts", String(index)],
            message:
              "must be a host as browsers write it, such as files.example, *.example or 192.168.1.5:8080",
          },
        ]
      : [],
  );
  return [...rules.flatMap(checkRule), ...wrongHosts];
}

function checkRule({ args = {}, effect, via }: AccessRule, index: number): SettingProblem[] {
  const at = ["rules", String(index)];
  const problems = Object.entries(args).flatMap(([name, written]): SettingProblem[] => {
    const read = readCondition(written);
    return read.kind === "wrong" ? [{ path: [...at, "args", name], message: read.message }] : [];
  });
  if (via !== undefined && effect !== "confirm") {
    problems.push({ path: [...at, "via"], message: "is allowed with `effect: confirm` only" });
  }
  return problems;
}

/** The problems of `webhooks.allowHosts`. Unlike URL arguments, webhooks have no patterns: each host is named exactly. */
export function checkWebhookHosts(hosts: readonly string[]): SettingProblem[] {
  return hosts.flatMap((host, index): SettingProblem[] => {
    const read = readAllowedHost(host);
    if (read !== undefined && read.protocol === undefined && !read.host.includes("*")) return [];
    const message = "must be an exact host or IP address, such as hooks.example or 192.168.1.5:8080";
    return [{ path: ["allowHosts", String(index)], message }];
  });
}
