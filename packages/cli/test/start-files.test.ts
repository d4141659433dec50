/** What a command loads when it starts: the files of the bundle that its first file imports, directly or not. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, test } from "vitest";

const bundle = fileURLToPath(new URL("../bundle", import.meta.url));
const textOf = (file: string) => fs.readFileSync(path.join(bundle, file), "utf8");

/** The file that a command's part of the source is in. */
function fileWith(source: string): string {
  const found = fs.readdirSync(bundle).find((name) => textOf(name).includes(`\n// ${source}\n`));
  if (found === undefined) throw new TypeError(`${source} is not in the bundle`);
  return found;
}

/** Static imports only: a file that `import()` names is loaded later. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const [, next = ""] of textOf(file).matchAll(/^(?:import|export)\b[^"\n]*"\.\/([^"\n]+)";$/gm))
    loadedBy(next, known);
  return known;
}

/** The packages whose code is in these files. */
function packagesIn(files: Iterable<string>): Set<string> {
  const found = new Set<string>();
  for (const file of files)
    for (const [, name = ""] of textOf(file).matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm))
      found.add(name);
  return found;
}

describe("the files of a start", () => {
  test.each([
    ["devices", "packages/cli/dist/commands/devices.js", ["eventsource-parser"]],
    ["home status", "packages/cli/dist/commands/home.js", []],
    ["every command", "packages/cli/dist/index.js", ["commander"]],
  ])("of %s contain only the packages that it needs", (_, source, expected) => {
    expect([...packagesIn(loadedBy(fileWith(source)))]).toEqual(expected);
  });

  it("of serve contain no package that a gateway may never use", () => {
    const packages = packagesIn(loadedBy(fileWith("packages/cli/dist/commands/serve.js")));
    for (const name of ["fastify", "aedes", "kysely"]) expect(packages).toContain(name);
    const optional = /^(mqtt|pg(-.*)?|jpeg-js|pino-pretty|@modelcontextprotocol\/.*|@nats-io\/.*)$/;
    expect([...packages].filter((name) => optional.test(name))).toEqual([]);
  });

  it("of the home's line server are one file and four modules of Node", () => {
    const text = textOf("home-lines.cjs");
    const required = [...text.matchAll(/(?<!=>)\brequire\("([^"]+)"\)/g)].map(([, name]) => name);
    expect(required.filter((name) => name?.startsWith("node:")).sort()).toEqual([
      "node:buffer",
      "node:fs",
      "node:net",
      "node:path",
    ]);
    // The others are in functions: the parser of home.yaml and the tools file.
    const first = text.slice(0, text.indexOf("function"));
    expect(first).not.toContain('require("./');
    expect(text.length).toBeLessThan(80_000);
  });

  it("are ASCII, because V8 keeps other files with two bytes for each character", () => {
    const wide = fs.readdirSync(bundle).filter((name) => /[^\0-\x7f]/.test(textOf(name)));
    expect(wide).toEqual([]);
  });
});
