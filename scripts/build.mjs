// Compiles every package, bundles the command, and builds the console; the tests' types are checked by
// `npm run check`, not here. `node scripts/build.mjs [packages|console]`: one part, or both.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const bin = (...at) => path.join(root, "node_modules", ...at);
const cli = path.join(root, "packages", "cli");
const bundleFolder = path.join(cli, "bundle");

function run(program, args, cwd = root) {
  const done = spawnSync(process.execPath, [program, ...args], { cwd, stdio: ["ignore", 2, 2] });
  if (done.status !== 0) process.exit(done.status ?? 1);
}

/**
 * The command and all that it loads, in a few files: Node spends three quarters of a start on finding and reading the
 * thousand small ones. Left out is the one package with native code.
 */
async function bundleCommand() {
  const bundle = await rolldown({
    input: path.join(cli, "dist", "index.js"),
    platform: "node",
    external: ["@photostructure/sqlite"],
    logLevel: "warn",
  });
  fs.rmSync(bundleFolder, { recursive: true, force: true });
  await bundle.write({ dir: bundleFolder, format: "esm", keepNames: true });
  await bundle.close();
}

/** Node's modules without a copy of their properties, because reading all of them loads half of Node. */
const nodeModulesAsTheyAre = {
  name: "node-modules-as-they-are",
  renderChunk: (code) =>
    code.replaceAll(/^(node_\w+) = __toESM\(\1, 1\);$/gm, "$1 = { __proto__: $1, default: $1 };"),
};

/** The simulated home alone, as CommonJS: it starts about as fast as Node. */
async function bundleHome() {
  const bundle = await rolldown({
    input: { "home-lines": path.join(cli, "dist", "home-lines.js") },
    platform: "node",
    logLevel: "warn",
    // Parts that a lazily loaded file shares with the first one stay in the first one.
    preserveEntrySignatures: "allow-extension",
    plugins: [nodeModulesAsTheyAre],
  });
  const names = { entryFileNames: "[name].cjs", chunkFileNames: "home-[name]-[hash].cjs" };
  // Without comments and white space; the names stay, for the stack trace of a bug.
  const minify = { compress: false, mangle: false, codegen: { removeWhitespace: true } };
  await bundle.write({ dir: bundleFolder, format: "cjs", minify, ...names });
  await bundle.close();
}

/**
 * Escapes characters outside ASCII. With a single one of them V8 keeps the source of a file with two bytes for each
 * character, which takes twice the memory and longer to parse.
 */
function escapeBundle() {
  for (const name of fs.readdirSync(bundleFolder)) {
    const file = path.join(bundleFolder, name);
    const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll(/[^\0-\x7f]/g, escaped));
  }
}

const parts = process.argv.slice(2);
const wants = (part) => parts.length === 0 || parts.includes(part);
if (wants("packages")) {
  run(bin("typescript", "bin", "tsc"), ["-b", "packages/cli"]);
  await bundleCommand();
  await bundleHome();
  escapeBundle();
}
// The page goes into the gateway's dist, where `serve` finds it.
if (wants("console")) run(bin("vite", "bin", "vite.js"), ["build"], path.join(root, "packages", "console"));
