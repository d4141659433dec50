/**
 * The published packages, as their users get them. The tarballs are made by `npm pack` and read back; the command's is
 * installed by npm into an empty folder and started there. No registry is needed: the command's one dependency, which is
 * native, is taken from the checkout.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RunningTendon } from "../packages/cli/test/run-tendon.ts";
// @ts-expect-error: scripts are plain JavaScript.
import { thirdPartyLicenses } from "../scripts/third-party-licenses.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const run = promisify(execFile);
const names = ["protocol", "gateway", "simulator", "cli", "client"].filter((name) =>
  fs.existsSync(path.join(root, "packages", name)),
);
const quietly = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
let folder: string;
let tarballs: readonly string[];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly publishScope: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

const manifestIn = (at: string) =>
  JSON.parse(fs.readFileSync(path.join(at, "package.json"), "utf8")) as Manifest;
const { publishScope: scope, version } = manifestIn(root);
const below = (at: string) =>
  fs
    .readdirSync(at, { recursive: true, encoding: "utf8" })
    .filter((file) => fs.statSync(path.join(at, file)).isFile());

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-packages-"));
  await run(process.execPath, [path.join(root, "scripts", "package.mjs"), "--out", folder], {
    env: { ...process.env, npm_config_cache: path.join(folder, "cache") },
  });
  tarballs = fs.readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  // The unpacked tarballs, not the folders that they were made from.
  for (const name of names) {
    const to = path.join(folder, "unpacked", name);
    fs.mkdirSync(to, { recursive: true });
    await run("tar", ["xzf", path.join(folder, tarballOf(name)), "-C", to, "--strip-components=1"]);
  }
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const tarballOf = (name: string) => `${scope.slice(1)}-${name}-${version}.tgz`;
const unpacked = (name: string) => path.join(folder, "unpacked", name);

/** What the compiler finds wrong with program.ts in the folder. */
async function compile(at: string, ...more: readonly string[]): Promise<string> {
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node",
    ...more,
  ];
  const { stdout } = await run(process.execPath, [tsc, ...args, "program.ts"], { cwd: at }).catch(
    (error: { stdout: string }) => error,
  );
  return stdout;
}

describe("the published packages", () => {
  it("are one tarball each, under the scope and the version of the root", () => {
    expect([...tarballs].sort()).toEqual(names.map(tarballOf).sort());
    for (const name of names)
      expect(manifestIn(unpacked(name))).toMatchObject({ name: `${scope}/${name}`, version });
  });

  it.each(names)(
    "%s names its licence, its sources and its Node versions, and can be published with provenance",
    (name) => {
      const manifest = manifestIn(unpacked(name));
      expect(manifest).toMatchObject({
        license: "MIT",
        engines: { node: ">=20.19" },
        repository: { type: "git", directory: `packages/${name}` },
        homepage: expect.stringMatching(/^https:/),
        bugs: { url: expect.stringMatching(/^https:/) },
        publishConfig: { access: "public", provenance: true },
      });
      expect(manifest).not.toHaveProperty("private");
      expect(manifest).not.toHaveProperty("scripts");
      const files = below(unpacked(name));
      expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE"]));
      // Sources, maps without sources, and the compiler's notes.
      expect(
        files.filter((file) =>
          /(^src\/|\.map$|tsbuildinfo|[^d]\.ts$|^test)/.test(file.replace(/\.d\.ts$/, ".d")),
        ),
      ).toEqual([]);
    },
  );

  it.each(names)("%s exports only files that it has, with types", (name) => {
    const { exports } = manifestIn(unpacked(name));
    for (const [entry, target] of Object.entries(exports)) {
      if (typeof target === "string") expect(entry).toBe("./package.json");
      else {
        expect(Object.keys(target)).toEqual(["types", "default"]);
        for (const file of Object.values(target))
          expect(fs.existsSync(path.join(unpacked(name), file))).toBe(true);
      }
    }
  });

  it.each(names)("%s uses the scope everywhere, and depends only on published packages", (name) => {
    const files = below(unpacked(name)).filter((file) => /\.(js|ts|json|md|html)$/.test(file));
    const wrong = files.filter((file) => {
      const text = fs.readFileSync(path.join(unpacked(name), file), "utf8");
      // The bundle has the checkout's name in a branch that the packaged command does not take.
      return /@tendon\/|\{\{\w+\}\}/.test(
        name === "cli" ? text.replaceAll("@tendon/gateway/package.json", "") : text,
      );
    });
    expect(wrong).toEqual([]);
    const own = Object.keys(manifestIn(unpacked(name)).dependencies ?? {}).filter((each) =>
      each.startsWith(`${scope}/`),
    );
    for (const each of own) expect(names).toContain(each.slice(scope.length + 1));
  });

  it("compile in a program of their users", async () => {
    const at = path.join(folder, "types");
    for (const name of names.filter((each) => each !== "cli")) {
      fs.mkdirSync(path.join(at, "node_modules", scope), { recursive: true });
      fs.cpSync(unpacked(name), path.join(at, "node_modules", scope, name), { recursive: true });
    }
    // Dependencies of others, as an installation would have them.
    for (const entry of fs.readdirSync(path.join(root, "node_modules"))) {
      if (!entry.startsWith(".") && entry !== "@tendon")
        fs.symlinkSync(path.join(root, "node_modules", entry), path.join(at, "node_modules", entry));
    }
    fs.writeFileSync(path.join(at, "package.json"), '{"type":"module"}');
    fs.writeFileSync(
      path.join(at, "program.ts"),
      `import { startTendon } from "${scope}/gateway";
import { eventTypes } from "${scope}/protocol";
import { VirtualDevice } from "${scope}/simulator";
const tendon = await startTendon({ http: { port: 0 } });
const device = new VirtualDevice({ otaUrl: tendon.addresses.ota });
export const url: string = tendon.url;
export const types: readonly string[] = eventTypes;
// @ts-expect-error the declarations are read, so this is found
export const wrong: number = device.connect();
`,
    );
    expect(await compile(at, "--skipLibCheck")).toBe("");
  });

  it("client needs no other package of ours, and has the types of the protocol", async () => {
    expect(Object.keys(manifestIn(unpacked("client")).dependencies ?? {})).toEqual(["eventsource-parser"]);
    const at = path.join(folder, "client-alone");
    fs.mkdirSync(path.join(at, "node_modules", scope), { recursive: true });
    fs.cpSync(unpacked("client"), path.join(at, "node_modules", scope, "client"), { recursive: true });
    for (const entry of ["eventsource-parser", "@types", "undici-types"])
      fs.symlinkSync(path.join(root, "node_modules", entry), path.join(at, "node_modules", entry));
    fs.writeFileSync(path.join(at, "package.json"), '{"type":"module"}');
    // Read from the declarations of the protocol, which a program has only if it installs that package too.
    const other = path.relative(at, path.join(unpacked("protocol"), "dist", "index.js"));
    fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "unpacked", "node_modules"));
    fs.writeFileSync(
      path.join(at, "program.ts"),
      `import { TendonClient } from "${scope}/client";
import type * as protocol from "${other}";
const client = new TendonClient({ url: "http://127.0.0.1:1" });
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Answer<Method extends (...args: never[]) => unknown> = Awaited<ReturnType<Method>>;
export const same: readonly true[] = [
  true satisfies Same<Answer<typeof client.devices.list>, protocol.DeviceList>,
  true satisfies Same<Answer<typeof client.devices.get>, protocol.DeviceDetail>,
  true satisfies Same<Answer<typeof client.devices.tools>, protocol.ToolList>,
  true satisfies Same<Parameters<typeof client.callMany>[0], protocol.FleetTarget>,
  true satisfies Same<Answer<typeof client.call>, protocol.CallReply | protocol.QueuedReply>,
  true satisfies Same<Answer<typeof client.calls.list>, protocol.CallHistory>,
  true satisfies Same<Answer<typeof client.calls.get>, protocol.CallTrace>,
  true satisfies Same<Answer<typeof client.approvals.get>, protocol.ApprovalView>,
  true satisfies Same<Answer<typeof client.jobs.get>, protocol.Job>,
  true satisfies Same<Answer<typeof client.audit.list>, protocol.AuditList>,
];
// @ts-expect-error the declarations are read, so this is found
export const wrong: number = client.devices.list();
`,
    );
    expect(await compile(at)).toBe("");
    const program = `await import("${scope}/client"); console.log("loaded")`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: at });
    expect(stdout).toBe("loaded\n");
  });
});

describe("what readers are told to type", () => {
  it("installs and runs no package by a name that is not ours", () => {
    const places = [
      "README.md",
      "README.es.md",
      "README.vi.md",
      "README.zh.md",
      "CONTRIBUTING.md",
      "docs",
      "deploy",
    ];
    const files = [
      ...places,
      ...fs.readdirSync(path.join(root, "packages")).map((name) => `packages/${name}`),
    ].flatMap((place) => {
      const at = path.join(root, place);
      if (fs.statSync(at).isFile()) return [at];
      return ["", "src"].flatMap((part) => {
        const inside = path.join(at, part);
        if (!fs.existsSync(inside)) return [];
        const recursive = part === "src" || !place.startsWith("packages");
        return fs
          .readdirSync(inside, { recursive, encoding: "utf8" })
          .map((file) => path.join(inside, file))
          .filter((file) => /\.(md|ts|tsx|mjs)$/.test(file));
      });
    });
    expect(files.length).toBeGreaterThan(300);
    // `npx tendon` runs the command of a checkout or an installation; with -y it would fetch a package without asking.
    const foreign = /npx (-y|--yes) |npx @|npm (i|install|exec|add)( -\S+)* (tendon\b|@tendon\/|@tendon-)/;
    const wrong = files.filter((file) => foreign.test(fs.readFileSync(file, "utf8")));
    expect(wrong.map((file) => path.relative(root, file))).toEqual([]);
  });
});

describe("the installed command", () => {
  let install: string;
  beforeAll(async () => {
    install = path.join(folder, "install");
    fs.mkdirSync(install);
    fs.writeFileSync(path.join(install, "package.json"), '{"private":true}');
    const args = ["install", ...quietly, "--omit=optional", path.join(folder, tarballOf("cli"))];
    await run("npm", args, {
      cwd: install,
      env: { ...process.env, npm_config_cache: path.join(folder, "cache") },
    });
  });

  it("says what is missing where Node has no SQLite and the optional package was left out", async () => {
    const major = Number.parseInt(process.versions.node, 10);
    if (major >= 24) return;
    const bin = path.join(install, "node_modules", ".bin", "tendon");
    const { stderr } = await run(bin, ["serve", "--port", "0", "--mqtt-port", "0"], { cwd: install }).catch(
      (error: { stderr: string }) => error,
    );
    expect(stderr).toMatch(
      /needs the package @photostructure\/sqlite\. Install Tendon again without --omit=optional/,
    );
  });

  it("runs the demo with its console, guides and API reference, and is small", async () => {
    const modules = path.join(install, "node_modules");
    const size = below(modules).reduce((sum, file) => sum + fs.statSync(path.join(modules, file)).size, 0);
    expect(size).toBeLessThan(20 * 2 ** 20);
    fs.symlinkSync(path.join(root, "node_modules", "@photostructure"), path.join(modules, "@photostructure"));
    const tendon = new RunningTendon(
      ["serve", "--demo", "--port", "0", "--mqtt-port", "0"],
      { cwd: install },
      path.join(modules, scope, "cli", "bin", "tendon.js"),
    );
    onTestFinished(async () => void (await tendon.end()));
    const [, url = ""] = await tendon.until("stdout", /^tendon ready (\S+)$/m);
    await tendon.until("stdout", /try +npx tendon devices\n/);
    const get = async (at: string) => await fetch(`${url}${at}`);
    const page = await (await get("/")).text();
    const [, script = ""] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? [];
    expect((await get(script)).status).toBe(200);
    const assets = fs.readdirSync(path.join(modules, scope, "cli", "assets", "console", "assets"));
    for (const guide of fs
      .readdirSync(path.join(root, "docs", "guides"))
      .filter((file) => /^[\w-]+\.md$/.test(file)))
      expect(assets.join(" ")).toContain(guide.replace(/\.md$/, ""));
    expect((await get("/docs/static/swagger-ui-bundle.js")).status).toBe(200);
    const { stdout } = await run(path.join(modules, ".bin", "tendon"), ["devices", "--json"], {
      cwd: install,
    });
    const { devices } = JSON.parse(stdout) as { devices: { alias: string }[] };
    expect(devices.map(({ alias }) => alias).sort()).toEqual([
      "esp-box-3-3001",
      "home",
      "m5stack-core-s3-3002",
    ]);
  });
});

describe("the licences of others", () => {
  it("are listed in THIRD-PARTY-LICENSES; otherwise run `npm run licenses`", () => {
    const listed = fs.readFileSync(path.join(root, "THIRD-PARTY-LICENSES"), "utf8");
    expect(listed === thirdPartyLicenses(root)).toBe(true);
  });

  it("are in a bill of materials without addresses of a registry or of this machine", async () => {
    const file = path.join(folder, "sbom.json");
    await run(process.execPath, [path.join(root, "scripts", "licenses.mjs"), "--sbom", "--out", file]);
    const text = fs.readFileSync(file, "utf8");
    const { bomFormat, metadata, components } = JSON.parse(text) as {
      bomFormat: string;
      metadata: { component: { name: string } };
      components: { name: string; licenses: unknown[] }[];
    };
    expect([bomFormat, metadata.component.name]).toEqual(["CycloneDX", "tendon"]);
    const listed = components.map(({ name }) => name);
    expect(listed).toEqual(expect.arrayContaining(["fastify", "react", "@photostructure/sqlite"]));
    expect(listed).not.toContain("vitest");
    expect(text).not.toMatch(/"type": "distribution"|\.tgz/);
    expect(text).not.toContain(root);
  });

  it("are in the packages that contain their code", () => {
    for (const name of ["cli", "gateway"]) expect(below(unpacked(name))).toContain("THIRD-PARTY-LICENSES");
  });
});
