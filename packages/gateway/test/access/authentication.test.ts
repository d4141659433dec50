import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { Authentication } from "../../src/access/authentication.ts";
import type { Principal } from "../../src/access/principal.ts";

const caller: Principal = { id: "t1", name: "caller", scopes: new Set(["call"]), devices: undefined };

function open() {
  const clock = new ManualClock();
  const told: string[] = [];
  const limited = (by: string, who: string | undefined) => {
    if (who !== undefined) told.push(`${by} ${who}`);
  };
  const rates = new Authentication({
    clock,
    events: { limited } as unknown as ConstructorParameters<typeof Authentication>[0]["events"],
    tokens: { identify: (token) => (token === "right" ? caller : undefined), used: () => undefined },
    settings: {
      principal: { perSecond: 10, burst: 1_000_000 },
      address: { perSecond: 10, burst: 1_000_000 },
      failedSignIns: { perSecond: 1, burst: 2 },
    },
  });
  const ask = (token: string, from: string) => {
    try {
      return rates.identify(token, from)?.name ?? "unauthenticated";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  return { clock, told, ask };
}

describe("the counters by address", () => {
  it("[RATE-1] have one entry for an IPv6 network, and for an IPv4 address in any notation", () => {
    const { ask } = open();
    for (const [one, same, other] of [
      ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"],
      ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"],
    ] as const) {
      expect([ask("wrong", one), ask("wrong", same)]).toEqual(["unauthenticated", "unauthenticated"]);
      expect(ask("wrong", one)).toBe("rate_limited");
      expect(ask("wrong", same)).toBe("rate_limited");
      expect(ask("wrong", other)).toBe("unauthenticated");
    }
  });

  it("[RATE-4] are bounded: the least recently seen are dropped, those in use are kept", () => {
    const { ask } = open();
    for (let count = 0; count < 3; count += 1) ask("wrong", "10.0.0.1");
    expect(ask("wrong", "10.0.0.1")).toBe("rate_limited");
    for (let number = 0; number < 30_000; number += 1) {
      ask("wrong", `11.${number >> 16}.${(number >> 8) & 255}.${number & 255}`);
      if (number % 1_000 === 0) expect(ask("wrong", "10.0.0.1")).toBe("rate_limited");
    }
    expect(ask("wrong", "11.0.0.1")).toBe("unauthenticated");
    for (let number = 0; number < 10_000; number += 1) ask("wrong", `12.0.${number >> 8}.${number & 255}`);
    expect(ask("wrong", "10.0.0.1")).toBe("unauthenticated");
  });

  it("log a flood once, and another flood again", () => {
    const { ask, told, clock } = open();
    for (let count = 0; count < 50; count += 1) ask("wrong", "10.0.0.1");
    expect(told).toEqual(["sign-in 10.0.0.1"]);
    clock.advance(2_000);
    for (let count = 0; count < 50; count += 1) ask("wrong", "10.0.0.1");
    expect(told).toHaveLength(2);
  });
});

describe("[RATE-5] nodes that share their counters", () => {
  it("allow together what one node would, apart from what is not shared yet", () => {
    const clock = new ManualClock();
    const settings = {
      principal: { perSecond: 100, burst: 200 },
      address: { perSecond: 1_000, burst: 100_000 },
      failedSignIns: { perSecond: 1, burst: 2 },
    };
    const nodes = [1, 2, 3].map(
      () =>
        new Authentication({
          clock,
          events: { limited: () => undefined } as unknown as ConstructorParameters<
            typeof Authentication
          >[0]["events"],
          tokens: { identify: () => caller, used: () => undefined },
          settings,
        }),
    );
    for (const node of nodes)
      node.shareWith((spent) => {
        for (const other of nodes) if (other !== node) other.applySpent(spent);
      });
    let allowed = 0;
    const seconds = 60;
    for (let at = 0; at < seconds * 100; at += 1) {
      for (const node of nodes) {
        try {
          node.spend(caller);
          allowed += 1;
        } catch (error) {
          expect(error).toMatchObject({ code: "rate_limited" });
        }
      }
      clock.advance(10);
    }
    const one = settings.principal.burst + seconds * settings.principal.perSecond;
    expect(allowed).toBeLessThanOrEqual(one + (2 * settings.principal.burst) / 20);
    expect(allowed).toBeGreaterThan(one * 0.98);
  });
});
