/**
 * A real Chromium against a real gateway. All test files of a worker share one browser, which ends with the worker; each
 * test has a new profile, unless it uses the page of its group (shared-console.ts).
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
export class Complaints {
  readonly all: string[] = [];
  readonly #expected: RegExp[] = [];

  forget(): void {
    this.all.length = 0;
    this.#expected.length = 0;
  }

  watch(page: Page): void {
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        this.all.push(`${message.text()} ${message.location().url}`);
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
  const opened = await startPage(options);
  onTestFinished(() => opened.context.close());
  return opened;
}

/** A page for several tests; its starter must close its context. */
async function startPage(options: BrowserContextOptions): Promise<OpenPage> {
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
  await signIn(opened.page, site, at, link);
  return opened;
}

/** A signed-in page for several tests; its starter must close its context. */
export async function startConsole(
  site: Site,
  at: string,
  options: BrowserContextOptions = {},
  link = site.tendon.consoleLink(),
): Promise<OpenPage> {
  const opened = await startPage(options);
  try {
    await signIn(opened.page, site, at, link);
  } catch (error) {
    await opened.context.close();
    throw error;
  }
  return opened;
}

/** Signs in as another user in the same browser, which has the page's files already. */
export async function changeUser(opened: OpenPage, site: Site, at: string, link: string): Promise<void> {
  await opened.context.clearCookies();
  // A page that only changes its fragment is not loaded again.
  await opened.page.goto("about:blank");
  await signIn(opened.page, site, at, link);
}

async function signIn(page: Page, site: Site, at: string, link: string): Promise<void> {
  // The code and the address in one load where possible: loading the page is half of what a test costs.
  const [direct, part] = at.split("#");
  await page.goto(link.replace("/#", `${direct}#`));
  await page.getByRole("navigation").first().waitFor();
  if (part !== undefined) await page.goto(`${site.url}${at}`);
}
