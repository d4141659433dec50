// `npm run package`: writes what users install into release/.
//   release/*.tgz      one tarball for each published package, named under the scope in package.json (`publishScope`)
//   release/app/       with --app: the command in one folder, with its native dependency for this platform only
//   --out FOLDER       another folder than release/
//
// In the checkout the packages are called @tendon/NAME. They get the published scope here and nowhere else.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import * as protocol from "../packages/protocol/dist/index.js";
import { clientTypes } from "./client-types.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const { publishScope, repository, engines, version } = readJson(path.join(root, "package.json"));
const repositoryPage = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
const published = ["protocol", "gateway", "simulator", "client", "cli"].filter((name) =>
  fs.existsSync(path.join(root, "packages", name, "package.json")),
);
/** The command's bundle contains every other dependency. Node 24 and newer do without this one. */
const nativePackage = "@photostructure/sqlite";
const nativeNeeds = [nativePackage, "node-gyp-build"];
const swagger = "@fastify/swagger-ui";
const swaggerFiles = ["swagger-ui.css", "swagger-ui-bundle.js"];

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, "utf8"));
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** The published scope in place of the checkout's. */
function rename(text) {
  return text
    .replaceAll(/@tendon\/(protocol|gateway|simulator|client|cli)\b/g, `${publishScope}/$1`)
    .replaceAll("{{scope}}", publishScope)
    .replaceAll("{{files}}", `${repositoryPage}/blob/v${version}`);
}

function write(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

function copy(from, to) {
  if (!fs.existsSync(from)) fail(`${from} is missing: run \`npm run build\`.`);
  fs.cpSync(from, to, { recursive: true });
}

/** Only what the present sources compile to: dist keeps the output of files that were since removed. */
function copyCompiled(from, to) {
  for (const source of fs.readdirSync(path.join(from, "src"), { recursive: true, encoding: "utf8" })) {
    if (!/\.ts$/.test(source)) continue;
    for (const ending of [".js", ".d.ts"]) {
      const name = path.join("dist", source.replace(/\.ts$/, ending));
      const file = path.join(from, name);
      if (!fs.existsSync(file)) fail(`${file} is missing: run \`npm run build\`.`);
      // The maps lead to sources that are not in the package.
      const text = fs.readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*\n?$/m, "");
      write(path.join(to, name), rename(text));
    }
  }
}

/** The client takes only types from the protocol, so its package has them itself. */
function addClientTypes(to) {
  const used = new Set();
  for (const name of fs.readdirSync(to)) {
    const file = path.join(to, name);
    const text = fs.readFileSync(file, "utf8");
    const own = text.replaceAll(
      new RegExp(`import type \\{([^}]+)\\} from "${publishScope}/protocol"`, "g"),
      (_, names) => {
        for (const each of names.split(",")) if (each.trim() !== "") used.add(each.trim());
        return `import type {${names}} from "./protocol.js"`;
      },
    );
    if (own !== text) fs.writeFileSync(file, own);
  }
  write(path.join(to, "protocol.d.ts"), clientTypes(used, protocol));
  write(path.join(to, "protocol.js"), "export {};\n");
}

/** The console. Its guides name packages; a file that does is compressed again. */
function copyPage(to) {
  copy(path.join(root, "packages", "gateway", "dist", "console"), to);
  for (const name of fs.readdirSync(to, { recursive: true, encoding: "utf8" })) {
    const file = path.join(to, name);
    if (!/\.(js|html|md)$/.test(name)) continue;
    const text = fs.readFileSync(file, "utf8");
    const renamed = rename(text);
    if (renamed === text) continue;
    fs.writeFileSync(file, renamed);
    fs.writeFileSync(`${file}.gz`, gzipSync(renamed, { level: 9 }));
    fs.writeFileSync(`${file}.br`, brotliCompressSync(renamed));
  }
}

function manifestOf(name, own) {
  const {
    private: _,
    devDependencies: __,
    scripts: ___,
    exports,
    dependencies,
    bin,
    files: ____,
    ...rest
  } = own;
  return {
    ...rest,
    name: `${publishScope}/${name}`,
    engines,
    keywords: ["mcp", "esp32", "xiaozhi", "iot", "devices", "agents", "gateway"],
    homepage: `${repositoryPage}#readme`,
    bugs: { url: `${repositoryPage}/issues` },
    repository: { ...repository, directory: `packages/${name}` },
    publishConfig: { access: "public", provenance: true },
    ...(name === "cli"
      ? {
          files: ["bin", "bundle", "assets", "THIRD-PARTY-LICENSES"],
          bin,
          exports: { "./package.json": "./package.json" },
          optionalDependencies: { [nativePackage]: nativeVersion() },
        }
      : {
          files: ["dist", ...(name === "gateway" ? ["THIRD-PARTY-LICENSES"] : [])],
          exports: publishedExports(exports),
          dependencies: Object.fromEntries(
            Object.entries(dependencies ?? {})
              .filter(([each]) => !(name === "client" && each === "@tendon/protocol"))
              .map(([each, version]) => [rename(each), version]),
          ),
        }),
  };
}

function nativeVersion() {
  return readJson(path.join(root, "packages", "gateway", "package.json")).dependencies[nativePackage];
}

/** Types come from dist, and the condition that leads to the sources goes. */
function publishedExports(exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([entry, target]) => {
      if (typeof target === "string") return [entry, target];
      return [entry, { types: target.default.replace(/\.js$/, ".d.ts"), default: target.default }];
    }),
  );
}

/** The files of a package as they are published, in a folder. */
function stage(name, to) {
  const from = path.join(root, "packages", name);
  fs.rmSync(to, { recursive: true, force: true });
  fs.mkdirSync(to, { recursive: true });
  const manifest = manifestOf(name, readJson(path.join(from, "package.json")));
  write(path.join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  write(path.join(to, "README.md"), rename(fs.readFileSync(path.join(from, "README.md"), "utf8")));
  copy(path.join(root, "LICENSE"), path.join(to, "LICENSE"));
  if (manifest.files.includes("THIRD-PARTY-LICENSES"))
    copy(path.join(root, "THIRD-PARTY-LICENSES"), path.join(to, "THIRD-PARTY-LICENSES"));
  if (name === "cli") {
    copy(path.join(from, "bin"), path.join(to, "bin"));
    copy(path.join(from, "bundle"), path.join(to, "bundle"));
    copyPage(path.join(to, "assets", "console"));
    const shipped = path.join(root, "node_modules", swagger, "static");
    for (const file of swaggerFiles)
      copy(path.join(shipped, file), path.join(to, "assets", swagger, "static", file));
  } else copyCompiled(from, to);
  if (name === "client") addClientTypes(path.join(to, "dist"));
  if (name === "gateway") copyPage(path.join(to, "dist", "console"));
  checkTargets(to, manifest);
}

function checkTargets(folder, { exports, bin = {} }) {
  const targets = [
    ...Object.values(exports).flatMap((target) => Object.values(Object(target))),
    ...Object.values(bin),
  ].filter((target) => typeof target === "string" && target.length > 1);
  for (const target of targets)
    if (!fs.existsSync(path.join(folder, target))) fail(`${folder}: ${target} does not exist.`);
}

function pack(folders, to) {
  fs.mkdirSync(to, { recursive: true });
  const args = ["pack", ...folders, "--pack-destination", to, "--loglevel=error"];
  const done = spawnSync("npm", args, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (done.status !== 0) fail("npm pack failed; its message is above.");
}

/** The command and its native dependency, for images and machines without a registry. */
function writeApp(to) {
  stage("cli", to);
  for (const name of nativeNeeds) {
    const from = path.join(root, "node_modules", name);
    const target = path.join(to, "node_modules", name);
    for (const entry of fs.readdirSync(from)) {
      // Sources for a compiler, and other platforms' binaries.
      if (["src", "scripts", "binding.gyp", "prebuilds", "node_modules"].includes(entry)) continue;
      copy(path.join(from, entry), path.join(target, entry));
    }
    const prebuilt = path.join("prebuilds", `${process.platform}-${process.arch}`);
    if (name === nativePackage) copy(path.join(from, prebuilt), path.join(target, prebuilt));
  }
}

const args = process.argv.slice(2);
const out = path.resolve(
  args.includes("--out") ? args[args.indexOf("--out") + 1] : path.join(root, "release"),
);
if (!/^@[a-z0-9-]+$/.test(publishScope)) fail("package.json: `publishScope` must be a scope such as @name.");
if (args.includes("--app")) writeApp(path.join(out, "app"));
else {
  const stages = published.map((name) => path.join(out, "packages", name));
  for (const [index, name] of published.entries()) stage(name, stages[index]);
  pack(stages, out);
}
