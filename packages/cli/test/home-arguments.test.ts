import { Command } from "commander";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { addHomeCommand } from "../src/commands/home-arguments.ts";
import { lineServerArguments } from "../src/home-lines.ts";

/** What the whole command makes of the arguments; `undefined` if it does not start the line server. */
function asTheWholeCommand(words: readonly string[]): unknown {
  const program = new Command("tendon").enablePositionalOptions().exitOverride();
  addHomeCommand(program);
  let found: unknown;
  const [home] = program.commands;
  home
    ?.exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .action(({ mcp, ...options }) => {
      if (mcp !== undefined && home.args.length === 0) found = [mcp, options];
    });
  try {
    program.parse(["node", "tendon", ...words]);
  } catch {
    return undefined;
  }
  return found;
}

const shortcut = (words: readonly string[]) => lineServerArguments(["node", "tendon", ...words]);

describe("the shortcut to the line server", () => {
  test.each([
    ["home --mcp", [true, { persist: true }]],
    ["home --mcp=stdio", ["stdio", { persist: true }]],
    ["home --mcp stdio --events", ["stdio", { persist: true, events: true }]],
    ["home --data there --mcp --no-persist", [true, { persist: false, data: "there" }]],
    [
      "home --mcp --config a --tools b --init",
      [true, { persist: true, config: "a", tools: "b", init: true }],
    ],
  ])("is taken for `%s`", (text, expected) => {
    expect(shortcut(text.split(" "))).toEqual(expected);
    expect(asTheWholeCommand(text.split(" "))).toEqual(expected);
  });

  test.each([
    "home",
    "home status",
    "home --mcp status",
    "home --mcp=tcp",
    "home --mcp --help",
    "serve --mcp",
  ])("is not taken for `%s`", (text) => {
    expect(shortcut(text.split(" "))).toBeUndefined();
  });

  it("understands every list of arguments that it takes as the whole command does", () => {
    const options = ["--mcp", "--mcp=stdio", "--events", "--no-persist", "--init", "--json"];
    const values = ["--data", "--data=x", "--config", "--tools", "--unknown", "-h", "--", "-"];
    const words = [...options, ...values, "stdio", "status", "folder", ""];
    let taken = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 5 }), (list) => {
        const found = shortcut(["home", ...list]);
        if (found === undefined) return;
        taken += 1;
        expect(found).toEqual(asTheWholeCommand(["home", ...list]));
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(50);
  });
});
