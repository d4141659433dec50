import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { errorKinds, settingsReference } from "@tendon/gateway";
import { auditActions, errorTitles } from "@tendon/protocol";
import { VirtualDevice } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
// @ts-expect-error: scripts are plain JavaScript.
import { configurationPage } from "../scripts/configuration-page.mjs";
// @ts-expect-error: scripts are plain JavaScript.
import { stockToolsPage } from "../scripts/stock-tools-page.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

interface Row {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
}

function rows(): Row[] {
  const text = fs.readFileSync(path.join(root, "docs", "reference", "errors.md"), "utf8");
  const row = /^\|\s*`([a-z_]+)`\s*\|\s*(\d{3})\s*\|\s*(yes|no)\s*\|\s*(\S.*\S)\s*\|\s*$/gm;
  return [...text.matchAll(row)].map(([, code = "", status, retryable]) => ({
    code,
    status: Number(status),
    retryable: retryable === "yes",
  }));
}

describe("docs/reference/errors.md", () => {
  it("has one row for every code, with its status and whether a retry can help", () => {
    const told = Object.fromEntries(rows().map(({ code, ...rest }) => [code, rest]));
    const real = Object.fromEntries(
      Object.entries(errorKinds).map(([code, { status, retryable }]) => [code, { status, retryable }]),
    );
    expect(told).toEqual(real);
    expect(rows().length).toBe(Object.keys(real).length);
  });

  it("has exactly the codes with a title", () => {
    expect(
      rows()
        .map(({ code }) => code)
        .sort(),
    ).toEqual(Object.keys(errorTitles).sort());
  });
});

describe("the two commands", () => {
  const readmes = fs.readdirSync(root).filter((file) => /^README(\.\w+)?\.md$/.test(file));
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };

  it.each(readmes)("%s starts with `npm start` and `npm test`, and describes their arguments", (file) => {
    const [, section = ""] = fs.readFileSync(path.join(root, file), "utf8").split(/^## /m);
    const [, block = "", below = ""] = section.split(/^```(?:sh)?$/m);
    const typed = block
      .trim()
      .split("\n")
      .map((line) => line.split("#")[0]?.trim());
    expect(typed).toEqual(["npm start", "npm test"]);
    for (const command of typed) expect(below).toContain(`\`${command}\``);
  });

  it.each(["start", "test"])("npm %s installs and builds first, on a fresh clone too", (script) => {
    expect(scripts[`pre${script}`]).toMatch(/^node scripts\/prepare\.mjs/);
  });
});

describe("docs/reference/configuration.md", () => {
  const text = fs.readFileSync(new URL("../docs/reference/configuration.md", import.meta.url), "utf8");
  const settings = settingsReference();

  it("is the output of `npm run docs`", () => {
    expect(text).toBe(configurationPage(settings));
  });

  it.each(settings.flatMap((setting) => [setting, ...setting.fields]))("describes $name", (setting) => {
    expect(setting.description).toMatch(/\S{3}/);
    expect(text).toContain(`| \`${setting.name}\` |`);
  });
});

describe("docs/reference/stock-tools.md", () => {
  it("is what `npm run docs` makes of the virtual board: the tools it lists, and its answers to each call", async () => {
    const text = fs.readFileSync(new URL("../docs/reference/stock-tools.md", import.meta.url), "utf8");
    expect(text).toBe(await stockToolsPage(VirtualDevice));
  });
});

describe("docs/operations/audit.md", () => {
  it("names every action of the audit once, and no other", () => {
    const text = fs.readFileSync(path.join(root, "docs", "operations", "audit.md"), "utf8");
    const table = text.split("\n").filter((line) => line.startsWith("| `"));
    const told = table.flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)]);
    expect(told.map(([, action]) => action).toSorted()).toEqual(auditActions.toSorted());
  });
});
