// Makes `npm start` and `npm test` work as the first command on a fresh clone: installs when the lockfile or the
// platform changed, then compiles the packages and builds the console, each only when its sources changed.
// Uses Node's own modules only, because nothing else is installed yet. Child output goes to stderr, so that stdout
// stays the program's own.
//   --no-build   install only        --no-console   install and compile, leave the console as it is
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const cache = path.join(root, "node_modules", ".cache", "tendon");
const lockPath = path.join(root, ".prepare.lock");
const lockPatienceMs = 5 * 60_000;

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`Tendon needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Says how long it took: a first start is long, and should be seen to go on. */
function run(command, args) {
  const started = performance.now();
  const done = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (done.error) throw done.error;
  if (done.status === 0) console.error(`  done in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return done.status === 0;
}

function digest(parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex");
}

function manifests() {
  const packages = path.join(root, "packages");
  return [
    path.join(root, "package.json"),
    path.join(root, "package-lock.json"),
    ...fs.readdirSync(packages).map((name) => path.join(packages, name, "package.json")),
  ].filter((file) => fs.existsSync(file));
}

function installKey() {
  return digest([
    process.version,
    process.platform,
    process.arch,
    ...manifests().map((file) => fs.readFileSync(file)),
  ]);
}

function* sources(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (["node_modules", "dist", "bundle", "test"].includes(entry.name)) continue;
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(full);
    else if (/\.(tsx?|json|css|html|svg|webmanifest|md|png)$/.test(entry.name)) yield full;
  }
}

/** What each part of the build is made from; the stamp of a part is the digest of that. */
const parts = {
  packages: ["protocol", "client", "gateway", "simulator", "cli"].map((name) => path.join("packages", name)),
  // The guides are pages of the console.
  console: [path.join("packages", "console"), path.join("packages", "protocol"), "docs"],
};

function buildKey(part) {
  const seen = [installKey()];
  for (const file of ["tsconfig.base.json", path.join("scripts", "build.mjs")])
    seen.push(fs.readFileSync(path.join(root, file)));
  for (const folder of parts[part]) {
    for (const file of sources(path.join(root, folder))) {
      const stat = fs.statSync(file);
      seen.push(`${path.relative(root, file)} ${stat.mtimeMs} ${stat.size}`);
    }
  }
  return digest(seen);
}

function readStamp(name) {
  try {
    return fs.readFileSync(path.join(cache, name), "utf8");
  } catch {
    return "";
  }
}

function writeStamp(name, value) {
  fs.mkdirSync(cache, { recursive: true });
  fs.writeFileSync(path.join(cache, name), value);
}

function holderIsAlive() {
  try {
    process.kill(Number(fs.readFileSync(lockPath, "utf8")), 0);
    return true;
  } catch {
    return false;
  }
}

// Two first starts at once must not install over each other; a lock whose holder died is taken over.
function takeLock() {
  const patience = Date.now() + lockPatienceMs;
  for (;;) {
    try {
      fs.writeFileSync(lockPath, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (!holderIsAlive()) fs.rmSync(lockPath, { force: true });
    else if (Date.now() > patience) {
      console.error(
        `Another process has been preparing this folder for five minutes; remove ${lockPath} if it is gone.`,
      );
      process.exit(1);
    } else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

function install() {
  if (readStamp("install") === installKey()) return;
  console.error("Installing dependencies (first run, or the lockfile changed) …");
  // A lockfile written where a registry lacked another platform's packages makes `npm ci` refuse; the fallback
  // resolves the same pinned versions and leaves the lockfile alone.
  // Warnings are left out: two packages of others ask for a newer Node than they need, and the tests run on ours.
  const quietly = ["--no-fund", "--no-audit", "--loglevel=error"];
  const ok = run("npm", ["ci", ...quietly]) || run("npm", ["install", "--no-save", ...quietly]);
  if (!ok) {
    console.error("npm could not install the dependencies; its own message is above.");
    process.exit(1);
  }
  writeStamp("install", installKey());
}

function build(part) {
  const key = buildKey(part);
  if (readStamp(part) === key) return;
  console.error(`Building the ${part} …`);
  if (!run(process.execPath, [path.join(root, "scripts", "build.mjs"), part])) {
    console.error("The build failed; the compiler's messages are above.");
    process.exit(1);
  }
  writeStamp(part, key);
}

requireNode();
const wanted = process.argv.includes("--no-build")
  ? []
  : Object.keys(parts).filter((part) => part !== "console" || !process.argv.includes("--no-console"));
const isReady = () =>
  readStamp("install") === installKey() && wanted.every((part) => readStamp(part) === buildKey(part));
if (!isReady()) {
  takeLock();
  try {
    install();
    for (const part of wanted) build(part);
  } finally {
    fs.rmSync(lockPath, { force: true });
  }
}
