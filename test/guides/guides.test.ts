/** Every guide is typed in literally, block by block. What a reader cannot do on one machine says so: see page.ts. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { loadConfig } from "@tendon/gateway";
import { afterAll, describe, expect, it } from "vitest";
import { GuideSession, isGateway, type Printed } from "./guide-session.ts";
import { type Block, GuideError, readPage, root, type Step, stepsOf } from "./page.ts";
import { differences, differencesInJson, withBindings } from "./shown-output.ts";

const translated = /\.(?:es|vi|zh)\.md$/;
const docs = fs
  .readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md"))
  .map((file) => path.join("docs", file))
  .sort();
const pages = [
  "README.md",
  ...docs.filter((page) => !translated.test(page)),
  "deploy/README.md",
  "CONTRIBUTING.md",
];
const translations = [...fs.readdirSync(root), ...docs].filter((page) => translated.test(page));

const commands = ["sh", "console"];
/** `text` and `mermaid` are for transcripts and diagrams, which are not typed in. */
const languages = [...commands, "json", "yaml", "js", "csv", "python", "cpp", "text", "mermaid"];
/** This test would run itself. */
const thisRun = /^npm test\b/;
/** Commands that change nothing: a reader whose board is not there yet types them again. */
const polled = /^npx tendon (devices|device pending|approvals|calls|voice|firmware (list|show \S+))\b/;
const mostAttempts = 60;
const pauseMs = 500;

/** The session of the README. Guides that start no gateway of their own share it with its `npm start`. */
let shared: GuideSession | undefined;

afterAll(async () => await shared?.close());

describe("every guide, typed in as it stands", () => {
  it.each(pages)("%s", async (page) => {
    const blocks = readPage(page);
    const startsOne = blocks.some(
      (block) => isRun(block) && stepsOf(block).some(({ command }) => isGateway(command)),
    );
    if (page === "README.md" || !startsOne) return await typeIntoShared(page, blocks);
    const session = new GuideSession();
    try {
      await typeIn(session, blocks);
    } finally {
      await session.close();
    }
  });

  it.each(translations)("%s has commands of the English page only", (page) => {
    const known = new Set(stepsIn(page.replace(translated, ".md")));
    expect(stepsIn(page).filter((step) => !known.has(step))).toEqual([]);
  });
});

async function typeIntoShared(page: string, blocks: readonly Block[]): Promise<void> {
  shared ??= new GuideSession();
  const session = shared;
  if (page !== "README.md" && blocks.some(isRun)) await session.run("npm start");
  try {
    await typeIn(session, blocks);
  } finally {
    session.reset();
    await session.interrupt("npm start");
  }
}

function isRun({ language, notRun, printed }: Block): boolean {
  return commands.includes(language) && notRun === undefined && printed === undefined;
}

/** Remarks are the reader's language; commands and what they print are not. */
function stepsIn(page: string): string[] {
  const blocks = readPage(page).filter(({ language }) => commands.includes(language));
  return blocks
    .flatMap(stepsOf)
    .map(({ command, shown }) => `${command.replace(/\s+# .*$/, "")}\n${shown ?? ""}`);
}

async function typeIn(session: GuideSession, blocks: readonly Block[]): Promise<void> {
  let last: Printed | undefined;
  for (const [index, block] of blocks.entries()) {
    const compared = blocks[index + 1]?.printed === true;
    try {
      last = (await typeBlock(session, block, last, compared)) ?? last;
    } catch (error) {
      throw new GuideError(`${block.place}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

async function typeBlock(
  session: GuideSession,
  block: Block,
  last: Printed | undefined,
  compared: boolean,
): Promise<Printed | undefined> {
  const { language, text, notRun, printed, file } = block;
  if (!languages.includes(language))
    throw new GuideError(`\`${language}\` is none of ${languages.join(", ")}`);
  if (notRun !== undefined) return undefined;
  if (printed === true) return compare(session, block, last);
  if (language === "yaml" && (file ?? "tendon.yaml") === "tendon.yaml") checkSettings(text);
  if (file !== undefined) {
    session.write(file, text);
    return undefined;
  }
  switch (language) {
    case "sh":
    case "console":
      return await typeCommands(session, block, compared);
    case "js":
      session.write("typed-in.mjs", text);
      return await typeCommand(session, { command: "node typed-in.mjs", shown: undefined }, compared);
    case "yaml":
    case "text":
    case "mermaid":
      return undefined;
    default:
      throw new GuideError(`a block of ${language} is not run: say why in a comment above it (see page.ts)`);
  }
}

async function typeCommands(
  session: GuideSession,
  block: Block,
  compared: boolean,
): Promise<Printed | undefined> {
  let last: Printed | undefined;
  for (const step of stepsOf(block).filter(({ command }) => !thisRun.test(command))) {
    if (block.oneAtATime === true) await session.interrupt("npm start");
    last = await typeCommand(session, step, compared);
  }
  return last;
}

/** An error is a failure unless the guide shows it. */
async function typeCommand(
  session: GuideSession,
  { command, shown }: Step,
  compared: boolean,
): Promise<Printed> {
  for (let attempt = 1; ; attempt += 1) {
    const printed = await session.run(command, shown !== undefined);
    const { code, stdout } = printed;
    const wrong = shown === undefined ? [] : differences(shown, stdout, session.bindings);
    if (wrong.length > 0 && polled.test(command) && attempt < mostAttempts) {
      await pause(pauseMs);
      continue;
    }
    if (wrong.length > 0)
      throw new GuideError(`\`${command}\` does not print what is shown:\n${wrong.join("\n")}`);
    const expected = shown?.startsWith("tendon: ") === true ? 1 : 0;
    const refused = shown === undefined && !compared && stdout.includes('"urn:tendon:error:');
    if (code !== expected || refused)
      throw new GuideError(`\`${command}\` ends with ${code}:\n${stdout}${printed.stderr}`);
    return printed;
  }
}

/** Settings are for `tendon.yaml`, unless their file is another one; a reader puts them there where it has that name. */
function checkSettings(text: string): void {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-guide-"));
  try {
    const file = path.join(folder, "tendon.yaml");
    fs.writeFileSync(file, text);
    loadConfig({ file, env: {} });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

function compare(session: GuideSession, { language, text }: Block, last: Printed | undefined): undefined {
  const printed = last?.stdout ?? "";
  const wrong =
    language === "json"
      ? differencesInJson(JSON.parse(text), jsonIn(printed))
      : differences(withBindings(text, session.bindings), printed, session.bindings);
  if (wrong.length > 0) throw new GuideError(`the command above prints something else:\n${wrong.join("\n")}`);
}

function jsonIn(printed: string): unknown {
  try {
    return JSON.parse(printed);
  } catch {
    throw new GuideError(`the command above prints no JSON:\n${printed}`);
  }
}
