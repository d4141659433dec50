// `npm run licenses`: writes THIRD-PARTY-LICENSES; a test compares the file.
// `npm run sbom`: writes release/sbom.cdx.json, the same packages as a CycloneDX bill of materials; or `-- --out FILE`.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runtimePackages, thirdPartyLicenses } from "./third-party-licenses.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

function writeLicenses() {
  fs.writeFileSync(path.join(root, "THIRD-PARTY-LICENSES"), thirdPartyLicenses(root));
  console.log("THIRD-PARTY-LICENSES");
}

/** Written by npm from the lockfile. Addresses of the registry that was used here are left out. */
function writeSbom() {
  const args = ["sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"];
  const done = spawnSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", 2],
    shell: process.platform === "win32",
  });
  if (done.status !== 0) process.exit(done.status ?? 1);
  const bill = JSON.parse(done.stdout);
  const lock = JSON.parse(fs.readFileSync(path.join(root, "package-lock.json"), "utf8")).packages;
  // npm calls the libraries inside the console development dependencies; the page that we ship contains them.
  const shipped = new Set(
    runtimePackages(lock).map((at) => `${at.replace(/^.*node_modules\//, "")}@${lock[at].version}`),
  );
  bill.metadata.component.name = "tendon";
  bill.components = bill.components.filter((component) => shipped.has(component["bom-ref"]));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => shipped.has(each)) }));
  for (const component of [bill.metadata.component, ...bill.components]) {
    component.externalReferences = component.externalReferences?.filter(
      ({ type }) => type !== "distribution",
    );
  }
  const at = process.argv.indexOf("--out");
  const file = at < 0 ? path.join(root, "release", "sbom.cdx.json") : path.resolve(process.argv[at + 1]);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(path.relative(process.cwd(), file));
}

if (process.argv.includes("--sbom")) writeSbom();
else writeLicenses();
