import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { valueWithoutSecrets, withoutSecrets } from "../src/secret-masking.ts";

describe("masking", () => {
  it.each([
    ['{"token":"abc","a":1}', '{"token":"•••","a":1}'],
    ['{"wifi_password" : "x\\"y","b":2}', '{"wifi_password" : "•••","b":2}'],
    ['{"pwd":1234}', '{"pwd":"•••"}'],
    ['{"token":"cut off in the mid', '{"token":"•••"'],
    ["Authorization: Bearer abc.def", "Authorization: Bearer •••"],
    ['{"token":null,"x":"token"}', '{"token":null,"x":"token"}'],
    ['{"note":"seen"}', '{"note":"seen"}'],
  ])("of %s", (text, masked) => {
    expect(withoutSecrets(text)).toBe(masked);
  });

  it("covers JSON text inside JSON, at any depth", () => {
    const inner = (depth: number): unknown =>
      depth === 0 ? { secret: "hidden" } : { text: JSON.stringify(inner(depth - 1)) };
    for (const depth of [0, 1, 2, 3]) {
      expect(withoutSecrets(JSON.stringify(inner(depth)))).not.toContain("hidden");
      expect(JSON.stringify(valueWithoutSecrets(inner(depth)))).not.toContain("hidden");
    }
  });

  it("shows no secret value in any context", () => {
    const marked = fc.string().map((text) => `<<${text}>>`);
    fc.assert(
      fc.property(marked, fc.jsonValue(), fc.jsonValue(), (hidden, before, after) => {
        fc.pre(!JSON.stringify([before, after]).includes(hidden));
        const value = { before, password: hidden, after };
        expect(JSON.stringify(valueWithoutSecrets(value))).not.toContain(JSON.stringify(hidden));
        expect(withoutSecrets(JSON.stringify(value))).not.toContain(JSON.stringify(hidden));
      }),
    );
  });

  it("is fast for texts made to be slow", () => {
    const started = performance.now();
    for (const text of [
      `${"\\".repeat(1000)}"${"token".repeat(200)}`,
      '"token":"'.repeat(220),
      '"'.repeat(2048),
    ]) {
      for (let time = 0; time < 20; time += 1) withoutSecrets(text);
    }
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
