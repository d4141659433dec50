/** The page is built into the gateway's own dist, where `serve` finds it, with every text file compressed beside itself. */
import fs from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { guideIndex } from "./guide-index.ts";

const outDir = path.resolve(import.meta.dirname, "../gateway/dist/console");

function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    closeBundle() {
      for (const name of fs.readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
        if (!/\.(html|js|css|svg|md|webmanifest)$/.test(name)) continue;
        const file = path.join(outDir, name);
        const plain = fs.readFileSync(file);
        fs.writeFileSync(`${file}.gz`, gzipSync(plain, { level: 9 }));
        const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
        fs.writeFileSync(`${file}.br`, brotliCompressSync(plain, best));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind(), guideIndex(), compress()],
  resolve: { conditions: ["@tendon/source", "module", "browser", "development|production"] },
  build: {
    outDir,
    emptyOutDir: true,
    // The policy of the page takes no data: scripts and fonts, and small files cost nothing here.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
  logLevel: "warn",
});
