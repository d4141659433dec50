// The text of THIRD-PARTY-LICENSES: every package of others that a release contains or installs, with its licence.
import fs from "node:fs";
import path from "node:path";

/** What compiles the console and does not end up in it. */
const buildTools = /^(@types\/|@vitejs\/|@tailwindcss\/vite$|vite$)/;
/** Licences that allow what we do: passing on, in source and bundled, with the text. */
const accepted = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "0BSD",
  "BlueOak-1.0.0",
  "Unlicense",
]);
const licenceFile = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** @param {string} root the checkout */
export function thirdPartyLicenses(root) {
  const lock = JSON.parse(fs.readFileSync(path.join(root, "package-lock.json"), "utf8")).packages;
  const found = runtimePackages(lock).map((at) => describe(root, at, lock[at]));
  const texts = new Map();
  for (const each of found.sort((a, b) => (a.title < b.title ? -1 : 1))) {
    const same = texts.get(each.text) ?? [];
    texts.set(each.text, [...same, `${each.title} (${each.license})`]);
  }
  const sections = [...texts].map(([text, titles]) => `${titles.join("\n")}\n\n${text}\n`);
  const rule = `${"-".repeat(80)}\n\n`;
  return (
    `Tendon contains or installs the following packages of other authors. Each is used under the licence below its\n` +
    `name. \`npm run licenses\` writes this file from the installed packages.\n\n${rule}${sections.join(`\n${rule}`)}`
  );
}

/** The paths in the lockfile of all runtime dependencies of our packages, and of what is built into the console. */
export function runtimePackages(lock) {
  const seen = new Set();
  const follow = (from, names) => {
    for (const name of names) {
      const at = resolve(lock, from, name);
      if (at === undefined || seen.has(at)) continue;
      seen.add(at);
      const {
        dependencies = {},
        optionalDependencies = {},
        peerDependencies = {},
        peerDependenciesMeta = {},
      } = lock[at];
      const peers = Object.keys(peerDependencies).filter(
        (peer) => peerDependenciesMeta[peer]?.optional !== true,
      );
      follow(at, [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]);
    }
  };
  for (const [at, entry] of Object.entries(lock)) {
    if (!/^packages\/[^/]+$/.test(at)) continue;
    const bundled = at === "packages/console" ? Object.keys(entry.devDependencies ?? {}) : [];
    follow(at, [
      ...Object.keys(entry.dependencies ?? {}),
      ...bundled.filter((name) => !buildTools.test(name)),
    ]);
  }
  return [...seen].filter((at) => at.includes("node_modules/") && lock[at].link !== true);
}

/** Where Node would find a package: below the dependent first, then in each folder above it. */
function resolve(lock, from, name) {
  for (
    let folder = from;
    ;
    folder = folder.replace(/(^|\/)(node_modules\/(@[^/]+\/)?[^/]+|packages\/[^/]+)$/, "")
  ) {
    const at = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (lock[at] !== undefined) return lock[at].link === true ? lock[at].resolved : at;
    if (folder === "") return undefined;
  }
}

function describe(root, at, { version, license }) {
  const name = at.replace(/^.*node_modules\//, "");
  const folder = path.join(root, at);
  const own = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const named = license ?? own.license ?? own.licenses?.[0]?.type;
  const choices = String(named).replaceAll(/[()]/g, "").split(" OR ");
  const chosen = choices.find((each) => accepted.has(each));
  if (chosen === undefined)
    throw new TypeError(`${name} ${version} has the licence ${named}, which is not in the list`);
  const files = fs
    .readdirSync(folder)
    .filter((file) => licenceFile.test(file) && fs.statSync(path.join(folder, file)).isFile());
  const texts = files
    .sort()
    .map((file) => fs.readFileSync(path.join(folder, file), "utf8").replaceAll("\r\n", "\n").trim());
  const author = (typeof own.author === "string" ? own.author : own.author?.name)?.replace(/ *<.*$/, "");
  const text =
    texts.length > 0
      ? texts.join("\n\n")
      : `Licence: ${chosen}.${author === undefined ? "" : ` Author: ${author}.`} The package has no file with the licence's text.`;
  return { title: `${name} ${version}`, license: chosen, text };
}
