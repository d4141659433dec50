import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Policy } from "../../src/access/policy.ts";
import type { Principal, Scope } from "../../src/access/principal.ts";
import { compileGlob } from "../../src/access/rules.ts";
import type { AccessRule } from "../../src/access-settings.ts";

const device = { id: "02:00:00:00:00:01", alias: "desk", tags: ["office", "lamp"] };
const aliases: Record<string, string> = {
  desk: device.id,
  "old-desk": device.id,
  other: "02:00:00:00:00:02",
};

function principal(scopes: readonly Scope[] = ["call"], name = "agent"): Principal {
  return { id: "token-1", name, scopes: new Set(scopes), devices: undefined };
}

const schema = {
  type: "object",
  properties: {
    level: { type: "integer", default: 80 },
    box: { type: "object", properties: { deep: { default: 7 } } },
  },
} as const;

function policy(rules: readonly AccessRule[], other: "allow" | "confirm" | "deny" = "allow"): Policy {
  return new Policy({ rules: [...rules], default: other, urlHosts: [] }, (name) => aliases[name] ?? name);
}

function outcome(
  of: Policy,
  { args = {}, who = principal(), tool = "set_level", audience = "agent" as "agent" | "user" } = {},
): string {
  const definition = { name: tool, description: "", inputSchema: schema, audience, repairs: [] } as const;
  try {
    return of.judge(who, device, tool, definition, args, false)?.confirm === undefined ? "allow" : "confirm";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function effectOf(rule: Omit<AccessRule, "effect">, call: Parameters<typeof outcome>[1] = {}): boolean {
  const denies = outcome(policy([{ ...rule, effect: "deny" }]), call) === "forbidden";
  const confirms = outcome(policy([{ ...rule, effect: "confirm" }]), call) === "confirm";
  expect(confirms).toBe(denies);
  return denies;
}

describe("[ACC-1] a rule names a call", () => {
  it.each<[Omit<AccessRule, "effect">, boolean]>([
    [{}, true],
    [{ tool: "set_level" }, true],
    [{ tool: "set_*" }, true],
    [{ tool: "*" }, true],
    [{ tool: "SET_LEVEL" }, false],
    [{ tool: "level" }, false],
    [{ device: "desk" }, true],
    [{ device: "old-desk" }, true],
    [{ device: device.id }, true],
    [{ device: "other" }, false],
    [{ device: "unknown" }, false],
    [{ device: "des*" }, true],
    [{ device: "02:00:*" }, true],
    [{ device: "old-*" }, false],
    [{ tag: "office" }, true],
    [{ tag: "l*p" }, true],
    [{ tag: "garden" }, false],
    [{ principal: "agent" }, true],
    [{ principal: "token-1" }, true],
    [{ principal: "a*" }, true],
    [{ principal: "person" }, false],
    [{ tool: "set_level", device: "desk", tag: "office", principal: "agent" }, true],
    [{ tool: "set_level", device: "desk", tag: "garden", principal: "agent" }, false],
  ])("%j: %s", (rule, named) => {
    expect(effectOf(rule)).toBe(named);
  });
});

describe("[ACC-3] a rule looks at arguments", () => {
  it.each<[AccessRule["args"], Record<string, unknown>, boolean]>([
    [{ level: 50 }, { level: 50 }, true],
    [{ level: 50 }, { level: 51 }, false],
    [{ level: 50 }, { level: "50" }, false],
    [{ level: [1, 2, "three", null] }, { level: 2 }, true],
    [{ level: [1, 2, "three", null] }, { level: null }, true],
    [{ level: [1, 2] }, { level: 3 }, false],
    [{ level: { min: 80 } }, { level: 80 }, true],
    [{ level: { min: 80 } }, { level: 79 }, false],
    [{ level: { max: 20 } }, { level: 20.5 }, false],
    [{ level: { min: 10, max: 20 } }, { level: 15 }, true],
    [{ level: { min: 10 } }, { level: "15" }, false],
    [{ text: { pattern: "http*" } }, { text: "http://x" }, true],
    [{ text: { pattern: "http*" } }, { text: "x http" }, false],
    [{ text: { pattern: "http*" } }, { text: 5 }, false],
    [{ text: true }, { text: true }, true],
    [{ text: { present: true } }, { text: 0 }, true],
    [{ text: { present: true } }, {}, false],
    [{ level: { present: true } }, {}, false],
    [{ level: { present: true } }, { Level: [] }, true],
    [{ "/box/deep": { present: true } }, { box: { deep: null } }, true],
    [{ "/box/deep": { present: false } }, { box: {} }, true],
    [{ text: { present: false } }, {}, true],
    // Boards ignore case in names, and fill in the schema's default.
    [{ level: { min: 80 } }, { LEVEL: 90 }, true],
    [{ level: { min: 80 } }, {}, true],
    [{ level: { min: 81 } }, {}, false],
    [{ "/box/deep": 7 }, { box: {} }, true],
    [{ "/box/deep": 7 }, { box: { deep: 8 } }, false],
    [{ "/box/deep": 7 }, { box: { deep: 7 } }, true],
    [{ "/a~1b/c~0d": 1 }, { "a/b": { "c~d": 1 } }, true],
    [{ "/box/deep": 7 }, { box: "text" }, false],
    // One item of a list is enough for a denial.
    [{ rooms: "kitchen" }, { rooms: ["hall", "kitchen"] }, true],
    [{ rooms: "kitchen" }, { rooms: ["hall"] }, false],
    [{ rooms: "kitchen" }, { rooms: [] }, false],
    [{ level: 1, text: "a" }, { level: 1, text: "a" }, true],
    [{ level: 1, text: "a" }, { level: 1, text: "b" }, false],
    [{ level: 1 }, { level: { toString: 1 } }, false],
    [{ __proto__x: 1 }, {}, false],
    [{ constructor: { present: true } }, {}, false],
  ])("%j on %j: %s", (args = {}, given, named) => {
    expect(effectOf({ args }, { args: given })).toBe(named);
  });

  it("and one that allows must match all given values", () => {
    const only = policy([{ args: { rooms: ["hall", "salon"] }, effect: "allow" }], "deny");
    expect(outcome(only, { args: { rooms: ["hall", "salon"] } })).toBe("allow");
    expect(outcome(only, { args: { rooms: ["hall", "kitchen"] } })).toBe("forbidden");
    expect(outcome(only, { args: { rooms: "hall", ROOMS: "kitchen" } })).toBe("forbidden");
    expect(outcome(only, {})).toBe("forbidden");
  });
});

describe("[ACC-2] of several rules", () => {
  const all = ["allow", "confirm", "deny"] as const;
  it.each(
    all.flatMap((first) => all.flatMap((second) => all.map((other) => [first, second, other] as const))),
  )("%s and %s, by default %s: the strongest rule counts, in whatever order", (first, second, other) => {
    const strongest = all[Math.max(all.indexOf(first), all.indexOf(second))];
    const expected = strongest === "deny" ? "forbidden" : strongest;
    expect(outcome(policy([{ effect: first }, { effect: second }], other))).toBe(expected);
    expect(outcome(policy([{ effect: second }, { effect: first }], other))).toBe(expected);
    expect(outcome(policy([{ effect: first, tool: "else" }], other))).toBe(
      other === "deny" ? "forbidden" : other,
    );
  });

  it.each<[AccessRule["effect"] | undefined, "allow" | "confirm" | "deny", readonly Scope[], string]>([
    [undefined, "allow", ["call"], "forbidden"],
    [undefined, "confirm", ["call"], "forbidden"],
    ["allow", "allow", ["call"], "forbidden"],
    ["confirm", "allow", ["call"], "confirm"],
    ["deny", "allow", ["call"], "forbidden"],
    [undefined, "allow", ["call", "call:user"], "allow"],
    ["confirm", "allow", ["call", "call:user"], "confirm"],
    ["deny", "allow", ["call", "call:user"], "forbidden"],
    ["deny", "allow", ["admin"], "forbidden"],
    ["allow", "deny", ["admin"], "allow"],
    ["allow", "deny", ["call"], "forbidden"],
  ])("a user-only tool under %s (default %s) for %j: %s", (effect, other, scopes, expected) => {
    const rules = effect === undefined ? [] : [{ effect }];
    expect(outcome(policy(rules, other), { audience: "user", who: principal(scopes) })).toBe(expected);
  });

  it("one that requires the approval queue decides", () => {
    const definition = {
      name: "t",
      description: "",
      inputSchema: schema,
      audience: "agent",
      repairs: [],
    } as const;
    const both = policy([
      { effect: "confirm", reason: "a" },
      { effect: "confirm", via: "queue", reason: "b" },
    ]);
    expect(both.judge(principal(), device, "t", definition, {}, false)?.confirm).toMatchObject({
      queueOnly: true,
      reason: "b",
    });
  });
});

describe("[ACC-4] a tool list shows", () => {
  const loud: AccessRule = { args: { level: { min: 80 } }, effect: "deny" };
  it.each<[readonly AccessRule[], "allow" | "confirm" | "deny", readonly Scope[], "agent" | "user", string]>([
    [[], "allow", ["call"], "agent", "allowed"],
    [[], "allow", ["read"], "agent", "denied"],
    [[], "allow", ["call"], "user", "denied"],
    [[], "allow", ["call", "call:user"], "user", "allowed"],
    [[], "deny", ["call"], "agent", "denied"],
    [[], "confirm", ["call"], "agent", "confirm"],
    [[], "confirm", ["call"], "user", "denied"],
    [[{ effect: "deny" }], "allow", ["admin"], "agent", "denied"],
    [[{ effect: "confirm" }], "allow", ["call"], "user", "confirm"],
    [[{ effect: "confirm" }], "allow", ["read"], "user", "denied"],
    [[loud], "allow", ["call"], "agent", "allowed+"],
    [[{ ...loud, effect: "confirm" }], "allow", ["call"], "agent", "allowed+"],
    [[{ ...loud, effect: "confirm" }], "allow", ["call"], "user", "confirm+"],
    [[{ ...loud, effect: "allow" }], "deny", ["call"], "agent", "allowed+"],
    [[{ ...loud, effect: "allow" }], "deny", ["call"], "user", "denied"],
    [[{ effect: "confirm" }, loud], "allow", ["call"], "agent", "confirm+"],
    [[{ effect: "deny" }, { ...loud, effect: "allow" }], "allow", ["call"], "agent", "denied"],
    [[{ effect: "allow" }, { ...loud, effect: "confirm" }], "allow", ["call"], "user", "confirm+"],
  ])("%j, by default %s, for %j, %s: %s", (rules, other, scopes, audience, expected) => {
    const { access, argumentsDecide } = policy(rules, other).accessTo(principal(scopes), device, {
      name: "set_level",
      audience,
    });
    expect(`${access}${argumentsDecide ? "+" : ""}`).toBe(expected);
  });
});

describe("a pattern", () => {
  it.each([
    ["*", "", true],
    ["a*", "a", true],
    ["a*b*c", "aXbYc", true],
    ["a*b*c", "abc", true],
    ["a*b*c", "acb", false],
    ["ab*ba", "aba", false],
    ["*.*", "a.b", true],
    ["a.c", "abc", false],
    ["**", "x", true],
    ["[a]*", "[a]b", true],
  ])("%s on %j: %s", (pattern, text, fits) => {
    expect(compileGlob(pattern)(text)).toBe(fits);
  });

  it("matches like a regular expression", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
    fc.assert(
      fc.property(letters, text, (pattern, tried) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(compileGlob(pattern)(tried)).toBe(expression.test(tried));
      }),
      { numRuns: 2_000 },
    );
  });

  it("with many stars is fast on a text that almost matches", () => {
    const glob = compileGlob(`${"a*".repeat(128)}b`);
    expect(glob("a".repeat(100_000))).toBe(false);
  });
});
