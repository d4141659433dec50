/**
 * A real Chromium against a real gateway. All test files of a worker share one browser, which ends with the worker; each
 * test has a new profile.
 */
import fs from "node:fs";
import path from "node:path";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { expect, onTestFinished } from "vitest";
import type { Site } from "../site.ts";

let shared: Promise<Browser> | undefined;

/** The headless shell is the same engine without a window, and needs 25 % less CPU time to start a page. */
const programs = ["chromium-headless-shell", "chromium"];

async function browser(): Promise<Browser> {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const executablePath = programs
    .flatMap((program) => folders.map((folder) => path.join(folder, program)))
    .find((file) => fs.existsSync(file));
  shared ??= chromium.launch({
    executablePath: executablePath ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  return await shared;
}

/** Errors in the browser's console. A test that expects a rejected request names its status. */
class Complaints {
  readonly all: string[] = [];
  readonly #expected: RegExp[] = [];

  watch(page: Page): void {
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.all.push(message.text());
    });
    page.on("pageerror", (error) => this.all.push(String(error)));
  }

  expectRefusal(status: number): void {
    this.#expected.push(new RegExp(`status of ${status}`));
  }

  check(): void {
    expect(this.all.filter((text) => !this.#expected.some((pattern) => pattern.test(text)))).toEqual([]);
  }
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: Complaints;
}

/** Opens a page without signing in. */
export async function openPage(options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await (await browser()).newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = new Complaints();
  complaints.watch(page);
  onTestFinished(async () => {
    await context.close();
  });
  return { page, context, complaints };
}

/** Signs in with the link that `serve` prints, and opens the given address. */
export async function openConsole(
  site: Site,
  at = "/",
  options: BrowserContextOptions = {},
  link = site.tendon.consoleLink(),
): Promise<OpenPage> {
  const opened = await openPage(options);
  // The code and the address in one load where possible: loading the page is half of what a test costs.
  const [direct, part] = at.split("#");
  await opened.page.goto(link.replace("/#", `${direct}#`));
  await opened.page.getByRole("navigation").first().waitFor();
  if (part !== undefined) await opened.page.goto(`${site.url}${at}`);
  return opened;
}
