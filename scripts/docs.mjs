// `npm run docs`: writes the pages that are made from the sources.
import fs from "node:fs";
import { settingsReference } from "../packages/gateway/dist/index.js";
import { configurationPage } from "./configuration-page.mjs";

const file = new URL("../docs/reference/configuration.md", import.meta.url);
fs.writeFileSync(file, configurationPage(settingsReference()));
console.log("docs/reference/configuration.md");
