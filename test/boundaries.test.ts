/** Checks the table of docs/architecture.md: which module may import which, and through which entry file. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const longestFile = 400;

/** The project's packages that a package may import. */
const packages: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  client: ["protocol"],
  gateway: ["protocol"],
  simulator: ["protocol"],
  console: ["protocol"],
  cli: [
    "client",
    "gateway",
    "gateway/running-gateway",
    "simulator",
    "simulator/home",
    "protocol",
    "protocol/errors",
  ],
};

/** Files beside gateway.ts that import no module. Every module may import them. */
const leaves = [
  "access-settings",
  "addresses",
  "batch",
  "checked-addresses",
  "endpoint-settings",
  "errors",
  "clock",
  "cursor",
  "intake",
  "open-files",
  "outbound-fetch",
  "outbound-stream",
  "cancellation",
  "call-ids",
  "secret-masking",
  "server-headers",
  "named-routes",
  "package-files",
  "problem-document",
  "refreshed-admission",
  "token-bucket",
  "version",
  "with-deadline",
  "write-groups",
];

/** Modules of the gateway: what each may import beside protocol and the leaves. `types` may be imported as types only. */
const modules: Readonly<
  Record<string, { readonly may: readonly string[]; readonly types: readonly string[] }>
> = {
  device: { may: ["events"], types: [] },
  broker: { may: ["events"], types: [] },
  config: { may: [], types: [] },
  events: { may: [], types: ["store", "cluster"] },
  store: { may: [], types: [] },
  access: { may: ["events", "store"], types: ["config"] },
  cluster: { may: [], types: [] },
  audit: { may: ["access", "events", "store"], types: [] },
  fleet: { may: ["access", "events", "store", "cluster"], types: ["device", "config"] },
  // An upload and an OTA request carry the headers that identify a board, which device/ reads.
  vision: { may: ["access", "device", "events", "store"], types: ["config"] },
  provisioning: { may: ["access", "device", "events", "fleet", "store", "cluster"], types: ["config"] },
  // Firmware offers and activations at a voice server are parts of the OTA reply, whose types provisioning/ declares.
  firmware: { may: ["access", "events", "store", "cluster"], types: ["config", "provisioning"] },
  voice: {
    may: ["calls", "device", "events", "fleet"],
    types: ["access", "cluster", "config", "provisioning", "store"],
  },
  // It holds the connections, and lets people add servers.
  "http-devices": { may: ["access", "device", "events"], types: ["config", "store"] },
  calls: { may: ["access", "events", "fleet", "store"], types: ["device", "config"] },
  toolset: { may: ["access", "fleet", "store"], types: [] },
  agent: {
    may: ["access", "calls", "events", "firmware", "fleet", "provisioning", "toolset"],
    types: ["audit", "broker", "cluster", "config", "http-devices", "store"],
  },
  // A part of the composition root.
  wiring: {
    may: [
      "access",
      "agent",
      "audit",
      "broker",
      "calls",
      "cluster",
      "config",
      "device",
      "events",
      "firmware",
      "fleet",
      "http-devices",
      "logging",
      "provisioning",
      "store",
      "toolset",
      "vision",
      "voice",
    ],
    types: [],
  },
};

const wire = fs.readFileSync(path.join(root, "docs", "reference", "wire.md"), "utf8");
const wireRules = new Set([...wire.matchAll(/\*\*([A-Z]{3,4}-\d+)\*\*/g)].map(([, rule = ""]) => rule));

interface Import {
  readonly from: string;
  readonly typeOnly: boolean;
}

interface Source {
  /** From the root, with slashes. */
  readonly file: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly peerDependencies?: Versions;
}

const clause = /\b(?:import|export)\s+(type\s+)?([\w*{}\s,$]*?)\s*from\s*"([^"]+)"/g;
/** Does not match inside a text, such as the path "/devices/import" or the action "device.import". */
const bare = /(?<![/".])\bimport\s*\(?\s*"([^"]+)"/g;

function importsOf(text: string): Import[] {
  const named = [...text.matchAll(clause)].map(([, type, names = "", from = ""]) => {
    const inner = /^\{(.*)\}$/s.exec(names.trim())?.[1] ?? "";
    const each = inner.split(",").filter((name) => name.trim() !== "");
    const typeOnly = type !== undefined || (each.length > 0 && each.every((name) => /^\s*type\s/.test(name)));
    return { from, typeOnly };
  });
  return [...named, ...[...text.matchAll(bare)].map(([, from = ""]) => ({ from, typeOnly: false }))];
}

function read(folder: string): Source[] {
  const full = path.join(root, folder);
  if (!fs.existsSync(full)) return [];
  return fs.readdirSync(full, { withFileTypes: true }).flatMap((entry): Source[] => {
    const file = `${folder}/${entry.name}`;
    if (["node_modules", "dist", "bundle", "fixtures"].includes(entry.name)) return [];
    if (entry.isDirectory()) return read(file);
    if (!/\.(ts|tsx|mjs|js)$/.test(entry.name)) return [];
    const text = fs.readFileSync(path.join(root, file), "utf8");
    return [{ file, text, imports: importsOf(text) }];
  });
}

const all = ["packages", "test", "bench", "scripts", "examples"].flatMap(read);
const sources = all.filter(({ file }) => /^packages\/[^/]+\/src\//.test(file));

function packageOf(file: string): string {
  return file.split("/")[1] ?? "";
}

/** Resolves a relative import, from the root. */
function target(file: string, from: string): string {
  return path.posix.normalize(path.posix.join(path.posix.dirname(file), from));
}

function relativeImports(source: Source): (Import & { readonly to: string })[] {
  return source.imports
    .filter(({ from }) => from.startsWith("."))
    .map((imported) => ({ ...imported, to: target(source.file, imported.from) }));
}

describe("packages", () => {
  it("are all in the table", () => {
    const found = fs.readdirSync(path.join(root, "packages"));
    expect(found.filter((name) => packages[name] === undefined)).toEqual([]);
  });

  it("import one another only as the table allows, and only through their index", () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ from }) => from.startsWith("@tendon/"))
        .filter(({ from }) => !packages[packageOf(file)]?.includes(from.slice("@tendon/".length)))
        .map(({ from }) => `${file} imports ${from}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are never imported by a relative path from another package or from tests", () => {
    const wrong = all.flatMap((source) =>
      relativeImports(source)
        .filter(({ to }) => /^packages\/[^/]+\/src\//.test(to))
        .filter(({ to }) => !source.file.startsWith(`packages/${packageOf(to)}/`))
        .map(({ to }) => `${source.file} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  it("protocol needs nothing but its schema libraries", () => {
    const libraries = ["typebox", "typebox/compile", "@cfworker/json-schema"];
    const wrong = sources
      .filter(({ file }) => packageOf(file) === "protocol")
      .flatMap(({ file, imports }) =>
        imports
          .filter(({ from }) => !from.startsWith(".") && !libraries.includes(from))
          .map(({ from }) => `${file} imports ${from}`),
      );
    expect(wrong).toEqual([]);
  });

  it("declare what they import", () => {
    const wrong = sources.flatMap(({ file, imports }) => {
      const manifest = path.join(root, "packages", packageOf(file), "package.json");
      const { dependencies = {}, devDependencies = {} } = JSON.parse(fs.readFileSync(manifest, "utf8")) as {
        dependencies?: object;
        devDependencies?: object;
      };
      // The built console has no dependencies; its imports are needed only for the build.
      const declared = packageOf(file) === "console" ? devDependencies : dependencies;
      return (
        imports
          // The console's build makes the modules of `virtual:`.
          .filter(({ from }) => !/^(\.|node:|virtual:)/.test(from))
          .map(({ from }) =>
            from.startsWith("@") ? from.split("/").slice(0, 2).join("/") : from.split("/")[0],
          )
          .filter((name) => !Object.hasOwn(declared, name ?? ""))
          .map((name) => `${file} imports ${name}`)
      );
    });
    expect(wrong).toEqual([]);
  });
});

describe("versions of dependencies", () => {
  const folders = ["", "test/tools/", ...Object.keys(packages).map((name) => `packages/${name}/`)];

  it.each(folders.map((folder) => `${folder}package.json`))("are exact in %s", (file) => {
    const manifest = JSON.parse(fs.readFileSync(path.join(root, file), "utf8")) as Manifest;
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = manifest;
    const named = { ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies };
    const loose = Object.entries(named).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
    expect(loose).toEqual([]);
  });

  it("are written exactly by npm install", () => {
    expect(fs.readFileSync(path.join(root, ".npmrc"), "utf8").split("\n")).toContain("save-exact=true");
  });
});

describe("modules of the gateway", () => {
  const src = "packages/gateway/src/";
  const inside = sources.filter(({ file }) => file.startsWith(src));
  const moduleOf = (file: string) => {
    const [first = "", ...rest] = file.slice(src.length).split("/");
    return rest.length === 0 ? undefined : first;
  };

  it("are all in the table", () => {
    const found = new Set(inside.flatMap(({ file }) => moduleOf(file) ?? []));
    expect([...found].filter((module) => modules[module] === undefined)).toEqual([]);
  });

  it("import one another and the leaf files only as the table allows", () => {
    const wrong = inside.flatMap((source) => {
      const module = moduleOf(source.file);
      const rule = module === undefined ? undefined : modules[module];
      if (rule === undefined) return [];
      return relativeImports(source).flatMap(({ to, typeOnly }) => {
        const other = moduleOf(to) ?? path.posix.basename(to, ".ts");
        if (other === module) return [];
        const allowed = [...leaves, ...rule.may, ...(typeOnly ? rule.types : [])].includes(other);
        return allowed ? [] : [`${source.file} imports ${to}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  it("are imported as a whole by the composition root (gateway.ts, wiring/) and index.ts alone", () => {
    const wrong = inside
      .filter(({ file }) => moduleOf(file) === undefined && !/\/(gateway|index)\.ts$/.test(file))
      .flatMap((source) =>
        relativeImports(source)
          .filter(({ to }) => moduleOf(to) !== undefined)
          .map(({ to }) => `${source.file} imports ${to}`),
      );
    expect(wrong).toEqual([]);
  });

  it("do not read the environment, except config/", () => {
    const readers = inside.filter(({ text }) => text.includes("process.env")).map(({ file }) => file);
    expect(readers).toEqual(["packages/gateway/src/config/config.ts"]);
  });
});

describe("requests of the gateway to other servers", () => {
  it("are sent only by outbound-fetch.ts", () => {
    const senders = sources
      .filter(({ file }) => packageOf(file) === "gateway")
      .filter(({ text }) => /(?<![.#\w])fetch\(|\bhttps?\.request\(/.test(text))
      .map(({ file }) => file);
    expect(senders).toEqual(["packages/gateway/src/outbound-fetch.ts"]);
  });
});

describe("folders", () => {
  it("of the gateway and the simulator are entered through the file named after them", () => {
    const wrong = sources
      .filter(({ file }) => ["gateway", "simulator"].includes(packageOf(file)))
      .flatMap((source) =>
        relativeImports(source).flatMap(({ to }) => {
          const folder = path.posix.dirname(to);
          const own = path.posix.dirname(source.file);
          if (own === folder || own.startsWith(`${folder}/`)) return [];
          const door = `${folder}/${path.posix.basename(folder)}.ts`;
          return to === door ? [] : [`${source.file} imports ${to}`];
        }),
      );
    expect(wrong).toEqual([]);
  });
});

describe("sources", () => {
  it(`have ${longestFile} lines at most`, () => {
    const long = all.filter(({ text }) => text.trimEnd().split("\n").length > longestFile);
    expect(long.map(({ file }) => file)).toEqual([]);
  });

  it("throw errors with their own classes", () => {
    expect(sources.filter(({ text }) => /throw new Error\(/.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it("have names in small letters with dashes", () => {
    const odd = all.filter(({ file }) => !/^[a-z0-9.-]+$/.test(path.posix.basename(file)));
    expect(odd.map(({ file }) => file)).toEqual([]);
  });

  it("skip no test and mock no module", () => {
    const tests = all.filter(({ file }) => file.endsWith(".test.ts"));
    const odd = tests.filter(({ text }) => /\b(vi\.mock|(it|test|describe)\.(skip|only|todo))\(/.test(text));
    expect(odd.map(({ file }) => file)).toEqual([]);
  });

  it("cite only rules that docs/reference/wire.md has", () => {
    expect(wireRules.size).toBeGreaterThan(50);
    const cited = all.flatMap(({ file, text }) => citedIn(text).map((rule) => ({ file, rule })));
    expect(cited.filter(({ rule }) => !wireRules.has(rule))).toEqual([]);
  });

  it("have a test for each rule that docs/reference/wire.md has", () => {
    const tests = all.filter(({ file }) => /(^|\/)test\//.test(file));
    const cited = new Set(tests.flatMap(({ text }) => citedIn(text)));
    expect([...wireRules].filter((rule) => !cited.has(rule))).toEqual([]);
  });

  it("have the version of package.json", () => {
    const versions = sources.filter(({ file }) => file.endsWith("/src/version.ts"));
    const said = versions.map(({ file, text }) => {
      const manifest = path.join(root, "packages", packageOf(file), "package.json");
      const { version } = JSON.parse(fs.readFileSync(manifest, "utf8")) as { version: string };
      return [/version = "([^"]+)"/.exec(text)?.[1], version];
    });
    expect(said.length).toBeGreaterThan(0);
    for (const [constant, version] of said) expect(constant).toBe(version);
  });
});

/** The rules that a text cites in brackets. */
function citedIn(text: string): string[] {
  const brackets = /\[([A-Z]{3,4}-\d+(?:(?:…|, )(?:[A-Z]{3,4}-)?\d+)*)\]/g;
  return [...text.matchAll(brackets)].flatMap(([, rules = ""]) => rulesIn(rules));
}

/** `DEV-6…11` cites six rules, `DEV-7, MQT-2` two. */
function rulesIn(text: string): string[] {
  let family = "";
  return text.split(", ").flatMap((part) => {
    const [, prefix, first, last = first] =
      /^(?:([A-Z]{3,4})-)?(\d+)(?:…(?:[A-Z]{3,4}-)?(\d+))?$/.exec(part) ?? [];
    family = prefix ?? family;
    const count = Number(last) - Number(first) + 1;
    return Array.from({ length: count }, (_, at) => `${family}-${Number(first) + at}`);
  });
}
