// `npm run fuzz -- --minutes N`: bundles test/fuzz/run.ts, because Node 20 runs no TypeScript, and runs it with a
// collector that can be called. `npm run fuzz -- --help` lists the options.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const dir = path.join(root, "node_modules", ".cache", "fuzz");
const bundle = await rolldown({
  input: {
    run: path.join(root, "test", "fuzz", "run.ts"),
    "gateway-process": path.join(root, "test", "fuzz", "entry", "gateway-process.ts"),
  },
  platform: "node",
  // Packages stay outside; the gateway's own sources are bundled, so no build is needed.
  external: (id) => !id.startsWith(".") && !path.isAbsolute(id) && !id.startsWith("@tendon/"),
  resolve: { conditionNames: ["@tendon/source", "node", "import", "default"] },
  logLevel: "warn",
});
await bundle.write({ dir, format: "esm", keepNames: true, sourcemap: true, entryFileNames: "[name].mjs" });
await bundle.close();
const flags = ["--expose-gc", "--enable-source-maps"];
const { status } = spawnSync(
  process.execPath,
  [...flags, path.join(dir, "run.mjs"), ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: "inherit",
  },
);
process.exit(status ?? 1);
