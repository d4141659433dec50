/**
 * Every page in every language and width, and in both themes: fully translated, not wider than the screen, and without
 * errors.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { askAtBoot, fetchImage, handIn, offerOf } from "../firmware/boards.ts";
import { makeImage } from "../firmware-image.ts";
import type { AtEnd, Site, SiteOptions } from "../site.ts";
import { ask, openUpstream, type Upstream } from "../voice/voice-site.ts";
import { bringInspector, seriousFindings } from "./accessibility.ts";
import { openConsole, openPage } from "./browser.ts";
import {
  clientIdOf,
  desk,
  homeProgram,
  kitchen,
  openConsoleSite,
  startBoard,
  untilOnline,
} from "./console-site.ts";
import { headings } from "./page-headings.ts";
import { type SharedConsole, sharedConsole } from "./shared-console.ts";

type Language = keyof typeof headings;
const languages = Object.keys(headings) as Language[];
const longAlias = "a-name-of-24-characters-";
const widths = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } } as const;
interface Look {
  readonly width: keyof typeof widths;
  readonly theme: "light" | "dark";
}

/** A voice server for the desk, the simulated home, and a rule with approval. */
async function livelyOptions(shared: SharedConsole, upstream: Upstream): Promise<SiteOptions> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-home-"));
  shared.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
  return {
    config: {
      endpoint: { enabled: true },
      voice: { udpPort: 0, upstream: [{ url: upstream.server.url }] },
      access: { rules: [{ tool: "self.screen.set_brightness", effect: "confirm", principal: "*agent*" }] },
    },
    processes: [homeProgram(folder)],
  };
}

/** Adds activity and long texts, and returns the addresses of the pages. */
async function addActivity(shared: SharedConsole, upstream: Upstream): Promise<readonly string[]> {
  const { site } = shared;
  const atEnd: AtEnd = (stop) => shared.atEnd(stop);
  const board = { battery: { level: 12, charging: false } };
  const talking = await startBoard(site, desk, longAlias, { board }, atEnd);
  await site.rest("PATCH", `/devices/${desk}`, {
    tags: ["a-tag-that-is-long", "upstairs", "quiet"],
  });
  await ask(talking, await upstream.connections.take());
  await untilOnline(site, "home", true);
  const done = await site.call(desk, "self.audio_speaker.set_volume", { volume: 30 });
  await site.call(desk, "self.audio_speaker.set_volume", { volume: 300 });
  await site.call(desk, "self.get_device_status");
  const made = await site.rest("POST", "/tokens", {
    name: "an agent with a rather long name",
    scopes: ["read", "call"],
  });
  const as = { authorization: `Bearer ${String(made.body["token"])}` };
  await site.rest(
    "POST",
    `/devices/${desk}/tools/self.screen.set_brightness/call`,
    { arguments: { brightness: 5 } },
    as,
  );
  // No event matches it, so nothing is sent.
  await site.rest("POST", "/webhooks", {
    url: "https://hooks.example/a-path-that-is-rather-long/and-goes-on/for-a-while",
    name: "a webhook with a rather long name",
    types: ["approval.decided"],
    devices: { tags: ["upstairs"] },
  });
  await failedUpdate(site);
  await fetch(`${site.url}/xiaozhi/ota/`, {
    method: "POST",
    headers: { "Device-Id": "02:00:00:00:00:99", "Client-Id": "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01" },
    body: JSON.stringify({ board: { type: "a-board-with-a-long-name" }, application: { version: "2.4.2" } }),
  });
  const away = await startBoard(site, kitchen, "away", { autoReconnect: false, board }, atEnd);
  await site.call(kitchen, "self.get_device_status");
  await away.stop();
  await untilOnline(site, kitchen, false);
  await site.call(kitchen, "self.audio_speaker.set_volume", { volume: 5 }, { whenOffline: "queue" });
  return [
    "/",
    "/calls",
    `/calls/${String(done.body["callId"])}`,
    "/approvals",
    "/home",
    "/voice",
    "/firmware",
    "/overview",
    "/connect",
    "/guides",
    "/tokens",
    "/webhooks",
    "/voice-agents",
    "/audit",
    "/settings",
    "/tokenz",
    "/?add=provider",
    `/devices/${desk}`,
  ];
}

/** An image that the desk was offered and downloaded, and failed to run. */
async function failedUpdate(site: Site): Promise<void> {
  const { body } = await handIn(site, makeImage());
  const board = { id: desk, clientId: clientIdOf(desk) };
  const offer = await offerOf(site, board);
  if (offer === undefined) throw new TypeError("the desk was offered nothing");
  await fetchImage(offer.url);
  await askAtBoot(site, board);
  await site.rest("PATCH", `/firmware/${String(body["id"])}`, { state: "halted" });
}

interface Seen {
  readonly lang: string;
  readonly theme: string;
  readonly text: string;
  /** By how many pixels the page is wider than the screen. */
  readonly wide: number;
}

const quietMs = 100;
const patienceMs = 15_000;

/** Navigates without reloading, as a link would. */
async function go(page: Page, at: string, heading: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(at)})`);
  await rest(page, heading);
}

/**
 * Waits until the page is stable: its heading is there, no request is pending, and nothing has moved for a moment. The
 * check runs inside the page, because polling from outside is slower.
 */
async function rest(page: Page, heading = ""): Promise<void> {
  const script = `new Promise((resolve, reject) => {
    const heading = ${JSON.stringify(heading)};
    const arrived = () =>
      [...document.querySelectorAll("h1")].some((each) => each.innerText.includes(heading)) &&
      document.querySelector(".skeleton") === null;
    const leave = () => { watch.disconnect(); clearTimeout(quiet); clearTimeout(late); };
    const see = () => {
      if (!arrived()) return;
      leave();
      resolve();
    };
    let quiet;
    const moved = () => { clearTimeout(quiet); quiet = setTimeout(see, ${quietMs}); };
    const watch = new MutationObserver(moved);
    const late = setTimeout(() => {
      leave();
      reject(new Error(location + " did not come to rest: " + document.body.innerText.slice(0, 500)));
    }, ${patienceMs});
    watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    moved();
  })`;
  await page.evaluate(script);
}

async function look(page: Page): Promise<Seen> {
  const script = `(() => {
    const { lang, scrollWidth } = document.documentElement;
    const [red] = getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/);
    const theme = Number(red) > 127 ? "light" : "dark";
    return { lang, theme, text: document.body.innerText, wide: scrollWidth - innerWidth };
  })()`;
  return (await page.evaluate(script)) as Seen;
}

const keys =
  /\b(?:nav|shell|fleet|device|call|calls|approvals|home|overview|connect|status|tools|story|timeline|form|voice|firmware)\.[a-z][A-Za-z]+\b/;
const namesOfOthers =
  /self\.|\{|device\.(online|offline|tools|pending|approved|notification)|call\.(finished|late)/;

/** Pages with names that look like keys: those of settings and actions. */
const dotted = ["/settings", "/audit"];

function judge({ text, wide }: Seen, where: string): void {
  expect(wide, `${where}: wider than the screen`).toBeLessThanOrEqual(0);
  expect(text, `${where}: an unfilled placeholder`).not.toMatch(/\{\w+\}|undefined|NaN|\[object/);
  if (dotted.some((at) => where.endsWith(at))) return;
  const own = text.split("\n").filter((line) => keys.test(line) && !namesOfOthers.test(line));
  expect(own, `${where}: a key instead of words`).toEqual([]);
}

const everyLook = (): boolean => true;

/**
 * A theme changes colours, and neither texts nor sizes. So one language is seen in every look, and the others in each
 * width and each theme once.
 */
function looksOf(language: Language): (look: Look) => boolean {
  if (language === "en") return everyLook;
  return ({ width, theme }) => theme === (width === "desktop" ? "dark" : "light");
}

/**
 * Checks the page in both widths and themes. It follows the window and the system at once, so it is not loaded again. The
 * present width comes first, because each change costs a rendering; the page stays in the other one.
 */
async function inLooks(
  page: Page,
  isWanted: (look: Look) => boolean,
  check: (look: Look) => Promise<void>,
): Promise<void> {
  const isNarrow = page.viewportSize()?.width === widths.phone.width;
  const looks = [
    { width: isNarrow ? "phone" : "desktop", themes: ["light", "dark"] },
    { width: isNarrow ? "desktop" : "phone", themes: ["dark", "light"] },
  ] as const;
  for (const { width, themes } of looks) {
    await page.setViewportSize(widths[width]);
    await rest(page);
    for (const theme of themes) {
      if (!isWanted({ width, theme })) continue;
      await page.emulateMedia({ colorScheme: theme });
      await check({ width, theme });
    }
  }
}

async function expectNoFinding(page: Page, what: string): Promise<void> {
  await inLooks(page, everyLook, async ({ width, theme }) => {
    const findings = await seriousFindings(page, theme === "light" ? "all" : "colours");
    expect(findings, `${what} ${theme} ${width}`).toEqual([]);
  });
}

describe("every page", () => {
  let upstream: Upstream;
  let pages: readonly string[];
  const shared = sharedConsole({
    site: async (started) => {
      upstream = await openUpstream({}, (stop) => started.atEnd(stop));
      return await livelyOptions(started, upstream);
    },
    page: { viewport: widths.phone, colorScheme: "light" },
  });
  beforeAll(async () => {
    pages = await addActivity(shared, upstream);
  });

  /** As a user who has chosen a language before. */
  const load = async (language: Language) => {
    await shared.page.evaluate(`localStorage.setItem("tendon.language", "${language}")`);
    await shared.load("/");
  };

  it.each(languages)("is complete in %s, in both themes, on wide and narrow screens", async (language) => {
    const { page, complaints } = shared;
    await load(language);
    for (const [place, at] of pages.entries()) {
      await go(page, at, headings[language][place] ?? longAlias);
      await inLooks(page, looksOf(language), async ({ width, theme }) => {
        const seen = await look(page);
        judge(seen, `${language} ${theme} ${width} ${at}`);
        expect([seen.lang, seen.theme]).toEqual([language, theme]);
      });
    }
    complaints.check();
  });

  it("has no serious accessibility finding", async () => {
    const { page } = shared;
    await load("en");
    await bringInspector(page);
    for (const [place, at] of pages.entries()) {
      await go(page, at, headings.en[place] ?? longAlias);
      await expectNoFinding(page, at);
    }
    await page.getByText("self.audio_speaker.set_volume").first().click();
    await page.getByText("self.upgrade_firmware").first().click();
    await page.getByLabel("url").waitFor();
    await expectNoFinding(page, "tools opened");
    await go(page, `/devices/${kitchen}`, "away");
    await page.getByRole("list", { name: "Queued calls" }).waitFor();
    await page.getByText("self.audio_speaker.set_volume").first().click();
    await page.getByRole("button", { name: "Queue it" }).waitFor();
    await expectNoFinding(page, "a device that is offline");
    await go(page, "/", "Fleet");
    await page.getByRole("button", { name: /waiting for approval/ }).click();
    await page.getByLabel(`Select ${longAlias}`).check();
    await page.getByText("1 selected").waitFor();
    await expectNoFinding(page, "a selected device");
    await page.getByRole("button", { name: "Run a tool" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run on 1 device" }).waitFor();
    await expectNoFinding(page, "a tool for the selection");
    await page.keyboard.press("Escape");
    await go(page, "/?add=board", "Fleet");
    await page.getByRole("img", { name: "QR code of the OTA address" }).waitFor();
    await expectNoFinding(page, "adding a device");
    await page.keyboard.press("Escape");
    await go(page, "/guides/firmware-updates", "Firmware updates");
    await expectNoFinding(page, "a guide");
    await go(page, "/guides?q=token", "Guides");
    await expectNoFinding(page, "found guides");
    await go(page, "/tokens", "Tokens");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Only some").click();
    await page.getByRole("dialog").getByLabel("Tags", { exact: true }).waitFor();
    await expectNoFinding(page, "a token's form");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Revoke" }).first().click();
    await page.getByRole("dialog").getByText("can no longer do").waitFor();
    await expectNoFinding(page, "the question before revoking");
  });

  it("has no serious accessibility finding before the user signs in", async () => {
    const { page } = await openPage({ viewport: widths.phone });
    await page.goto(shared.site.url);
    await page.getByLabel("Token or code").waitFor();
    await bringInspector(page);
    await expectNoFinding(page, "the sign-in page");
  });
});

describe("the user's choices", () => {
  it("survive a reload, whatever the browser's preferences are", async () => {
    const site = await openConsoleSite();
    const { page } = await openConsole(site, "/", { locale: "es-MX" });
    await page.getByRole("heading", { name: "Flota" }).waitFor();
    await page.getByRole("button", { name: "Idioma" }).click();
    await page.getByRole("menuitem", { name: "Tiếng Việt" }).click();
    await page.getByRole("heading", { name: "Thiết bị", exact: true }).waitFor();
    await page.getByRole("button", { name: "Giao diện" }).click();
    await page.getByRole("menuitem", { name: "Tối" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Thiết bị", exact: true }).waitFor();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    expect(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")).toBe(
      "rgb(16, 17, 20)",
    );
  });
});
