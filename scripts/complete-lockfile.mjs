// Adds to package-lock.json the optional platform packages that a registry did not offer when it was written, so
// that `npm ci` accepts it everywhere. Run it after every change of a dependency: node scripts/complete-lockfile.mjs [folder]
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const file = path.resolve(root, process.argv[2] ?? ".", "package-lock.json");
const lock = JSON.parse(fs.readFileSync(file, "utf8"));
const systems = [
  "darwin",
  "linux",
  "win32",
  "freebsd",
  "openbsd",
  "netbsd",
  "android",
  "sunos",
  "aix",
  "openharmony",
];
const processors = [
  "x64",
  "arm64",
  "arm",
  "ia32",
  "s390x",
  "ppc64",
  "riscv64",
  "loong64",
  "mips64el",
  "wasm32",
];

// The platform is written in such a package's name: @scope/linux-x64-gnu, name-darwin-arm64, …
function platformOf(name) {
  const words = name.replace(/^.*\//, "").split(/[-.]/);
  const os = systems.filter(
    (system) => words.includes(system) || (system === "linux" && words.includes("linuxmusl")),
  );
  const cpu = processors.filter(
    (processor) => words.includes(processor) || (processor === "ppc64" && words.includes("ppc64le")),
  );
  return { ...(cpu.length > 0 ? { cpu } : {}), ...(os.length > 0 ? { os } : {}) };
}

let added = 0;
for (const [at, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const known = lock.packages[`node_modules/${name}`] ?? lock.packages[`${at}/node_modules/${name}`];
    if (known || !/^\d+\.\d+\.\d+/.test(range)) continue;
    lock.packages[`node_modules/${name}`] = {
      version: range,
      ...platformOf(name),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
);
fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} platform packages added`);
