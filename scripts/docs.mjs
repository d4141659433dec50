// `npm run docs`: writes the pages that are made from the sources.
import fs from "node:fs";
import { settingsReference } from "../packages/gateway/dist/index.js";
import { VirtualDevice } from "../packages/simulator/dist/index.js";
import { configurationPage } from "./configuration-page.mjs";
import { stockToolsPage } from "./stock-tools-page.mjs";

write("configuration.md", configurationPage(settingsReference()));
write("stock-tools.md", await stockToolsPage(VirtualDevice));

function write(name, text) {
  fs.writeFileSync(new URL(`../docs/reference/${name}`, import.meta.url), text);
  console.log(`docs/reference/${name}`);
}
