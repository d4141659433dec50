/** The pages for administrators (tokens, audit, settings), the guides, and unknown addresses. */
import fs from "node:fs";
import { describe, expect, it } from "vitest";
import { as, makeToken } from "../access/tokens.ts";
import { until } from "../inbox.ts";
import { openSite, type Site } from "../site.ts";
import { openConsole } from "./browser.ts";
import { desk, kitchen, linkFor, openConsoleSite, startBoard } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const shared = sharedConsole({ site: { config: { calls: { queue: 7 } } } });

async function devicesOf(site: Site, token: string): Promise<unknown> {
  const { status, body } = await site.rest("GET", "/devices", undefined, as(token));
  return status === 200 ? (body["devices"] as { id: string }[]).map(({ id }) => id) : status;
}

describe("the tokens page", () => {
  it("creates a token for some devices, shows it once, and revokes it after naming what stops", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    await startBoard(site, kitchen, "kitchen");
    await site.rest("PATCH", `/devices/${desk}`, { tags: ["upstairs"] });
    const { page, complaints } = await openConsole(site);
    await page.clock.install();
    await page.getByRole("navigation").getByRole("link", { name: "Tokens" }).click();
    await page.getByText("No tokens yet").waitFor();
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("hall tablet");
    await dialog.getByLabel("Connect to the MCP endpoint of this gateway").waitFor();
    await dialog.getByLabel("Call user-only tools").click();
    await dialog.getByLabel("Only some").click();
    const create = dialog.getByRole("button", { name: "Create token" });
    expect(await create.isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "upstairs" }).click();
    await dialog.getByLabel("Expiry").selectOption({ label: "In 30 days" });
    await create.click();
    await dialog.getByText("Copy it now. It is shown only once.").waitFor();
    const token = (await dialog.getByRole("figure", { name: "Token" }).locator("pre").textContent()) ?? "";
    expect(token).toMatch(/^tdn_/);
    expect(await devicesOf(site, token)).toEqual([desk]);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("listitem", { name: "hall tablet" });
    await row.getByText("Only some: #upstairs").waitFor();
    await row.getByText(/^Expires/).waitFor();
    await row.getByText(/by admin from 127\.0\.0\.1$/).waitFor();
    expect(await row.locator("code").allTextContents()).toEqual(["read", "call", "call:user"]);
    expect(await page.content()).not.toContain(token);
    // The list is polled, because no event announces a use.
    await until(async () => {
      const { body } = await site.rest("GET", "/tokens");
      return (body["tokens"] as { lastUsedAt: string | null }[])[0]?.lastUsedAt !== null;
    }, "the use of the token");
    await page.clock.fastForward(10_000);
    await row.getByText(/ago from 127\.0\.0\.1$|^now from 127\.0\.0\.1$/).waitFor();
    await row.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("What hall tablet can no longer do").waitFor();
    await dialog.getByText("Call the tools that agents may use").waitFor();
    await dialog.getByText("Only some: #upstairs").waitFor();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No tokens yet").waitFor();
    expect(await devicesOf(site, token)).toBe(401);
    complaints.check();
  });

  it("shows tokens that others create and revoke, and explains a rejected request", async () => {
    const site = await openSite();
    const { page, complaints } = await openConsole(site, "/tokens");
    await page.getByText("No tokens yet").waitFor();
    const { id } = await makeToken(site, { name: "made elsewhere", scopes: ["admin"] });
    await page.getByRole("listitem", { name: "made elsewhere" }).waitFor();
    await site.rest("DELETE", `/tokens/${id}`);
    await page.getByText("No tokens yet").waitFor();
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("x");
    await dialog.getByLabel("Only some").click();
    await dialog.getByLabel("Devices", { exact: true }).fill("ghost");
    await dialog.getByRole("button", { name: "Create token" }).click();
    complaints.expectRefusal(400);
    await dialog.getByRole("alert").getByText("no device has the id or alias `ghost`").waitFor();
    complaints.check();
  });
});

describe("the pages for administrators", () => {
  it("are in the navigation and the palette of administrators only", async () => {
    const { site, page } = shared;
    const names = ["Tokens", "Webhooks", "Voice agents", "Audit", "Settings", "Firmware"];
    await shared.go("/");
    const links = page.getByRole("navigation").first().getByRole("link");
    await links.first().waitFor();
    expect((await links.allTextContents()).slice(-names.length)).toEqual(names);
    await page.getByText("Administration").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("audit");
    await page.getByRole("option", { name: "Audit Page" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();

    const viewer = await openConsole(site, "/tokens", {}, await linkFor(site, "viewer", ["read"]));
    await viewer.page.getByText("This page is for administrators").waitFor();
    const shown = await viewer.page.getByRole("navigation").first().getByRole("link").allTextContents();
    expect(shown.filter((name) => names.includes(name))).toEqual([]);
    expect(await viewer.page.getByText("Administration", { exact: true }).count()).toBe(0);
    for (const at of ["/webhooks", "/voice-agents", "/audit", "/settings"]) {
      await viewer.page.goto(`${site.url}${at}`);
      await viewer.page.getByText("This page is for administrators").waitFor();
    }
    viewer.complaints.check();
  });
});

describe("the audit page", () => {
  it("lists changes with readable details, and keeps its filters in the address", async () => {
    const { site, page, complaints } = shared;
    const auditor = await makeToken(site, { name: "auditor", scopes: ["admin"] });
    const makeTablet = (name: string) =>
      site.rest("POST", "/tokens", { name, scopes: ["read"] }, as(auditor.token));
    await shared.startBoard("sofa");
    await makeTablet("first tablet");
    await shared.go("/audit");
    const rows = page.getByRole("row");
    const created = rows.filter({ hasText: "token.create" }).filter({ hasText: "first tablet" });
    await created.waitFor();
    expect(await created.getByRole("cell").allTextContents()).toMatchObject([
      expect.stringMatching(/\d/),
      `auditor${auditor.id}`,
      "Token createdtoken.create",
      expect.stringContaining("first tablet"),
      "127.0.0.1",
    ]);
    await created.getByText("Details").click();
    await created.getByText("scopes").waitFor();
    const renamed = rows.filter({ hasText: "device.rename" }).filter({ hasText: "sofa" });
    await renamed.getByText(/ → sofa$/).waitFor();

    await page.getByLabel("Action", { exact: true }).selectOption({ label: "Token created" });
    await renamed.waitFor({ state: "detached" });
    await page.getByLabel("By", { exact: true }).fill("auditor");
    await page.waitForURL(`${site.url}/audit?action=token.create&principal=auditor`);
    await page.reload();
    await created.waitFor();
    expect(await rows.count()).toBe(2);
    // New entries appear at once.
    await makeTablet("second tablet");
    await rows.filter({ hasText: "second tablet" }).waitFor();
    await page.getByLabel("Since").fill("2999-01-01");
    await page.getByText("No matching entries").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await rows.filter({ hasText: "settings.start" }).waitFor();
    expect(page.url()).toBe(`${site.url}/audit`);
    complaints.check();
  });

  it("exports what the filters select, as CSV and as JSON lines", async () => {
    const { site, page, complaints } = shared;
    const exporter = await makeToken(site, { name: "exporter", scopes: ["admin"] });
    await site.rest("POST", "/tokens", { name: "tablet", scopes: ["read"] }, as(exporter.token));
    await shared.go("/audit?action=token.create&principal=exporter");
    const download = async (button: string) => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: button }).click(),
      ]);
      return { name: file.suggestedFilename(), text: fs.readFileSync(await file.path(), "utf8") };
    };
    const csv = await download("Export CSV");
    expect(csv.name).toBe("tendon-audit.csv");
    expect(csv.text.trim().split("\r\n")).toEqual([
      expect.stringMatching(/^id,at,principal,action/),
      expect.stringContaining(",exporter,token.create,token,"),
    ]);
    const lines = await download("Export JSON lines");
    expect(lines.name).toBe("tendon-audit.ndjson");
    expect(JSON.parse(lines.text)).toMatchObject({ action: "token.create", target: { name: "tablet" } });
    // The call history has the same buttons.
    const device = await shared.join();
    await site.call(device.id, "nothing");
    await shared.go(`/calls?device=${device.id}&tool=nothing`);
    const calls = await download("Export CSV");
    expect(calls.name).toBe("tendon-calls.csv");
    expect(calls.text.trim().split("\r\n")).toHaveLength(2);
    complaints.check();
  });
});

describe("the settings page", () => {
  it("shows each setting with its value and where it comes from, and finds them", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/settings");
    await page.getByRole("heading", { level: 2, name: "calls" }).waitFor();
    await page.getByText("calls.timeoutMs", { exact: true }).waitFor();
    await page.getByLabel("Search settings").fill("calls wait");
    await page.getByText("calls.timeoutMs", { exact: true }).waitFor({ state: "detached" });
    await page.getByText("calls.queue", { exact: true }).waitFor();
    expect(await page.getByRole("definition").allTextContents()).toEqual(["7", "Command line"]);
    expect(page.url()).toBe(`${site.url}/settings?q=calls+wait`);
    await page.getByLabel("Search settings").fill("");
    await page.getByLabel("Changed only").click();
    await page.getByText("access.default", { exact: true }).waitFor({ state: "detached" });
    expect(await page.getByText("Default", { exact: true }).count()).toBe(0);
    await page.reload();
    await page.getByText("calls.queue", { exact: true }).waitFor();
    expect(await page.getByLabel("Changed only").getAttribute("aria-checked")).toBe("true");
    complaints.check();
  });
});

describe("the guides page", () => {
  it("lists every guide and finds them by title, heading and text", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/guides");
    await page.getByRole("link", { name: "Your board in ten minutes" }).waitFor();
    for (const group of ["Guides", "Operations", "Reference", "Inside Tendon"])
      await page.getByRole("heading", { level: 2, name: group, exact: true }).waitFor();
    const field = page.getByLabel("Search guides");
    await field.fill("approvals");
    const found = page.getByRole("main").getByRole("listitem");
    await found
      .filter({ hasText: /^Access/ })
      .getByRole("link", { name: "Approvals" })
      .click();
    await page.getByRole("heading", { level: 1, name: "Access" }).waitFor();
    expect(page.url()).toBe(`${site.url}/guides/access#approvals`);
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1, name: "Guides" }).waitFor();
    // Only the text has this name of a setting.
    await field.fill("audit.keepDays");
    await found
      .filter({ hasText: "Audit and export" })
      .getByText(/audit\.keepDays/)
      .waitFor();
    await field.fill("no-such-word");
    await page.getByText("No matching guides").waitFor();
    complaints.check();
  });

  it("shows a guide in the reader's language where it is translated", async () => {
    const { site } = shared;
    const { page, complaints } = await openConsole(site, "/guides", { locale: "es-ES" });
    await page.getByText("Las páginas sin traducción están en inglés.").waitFor();
    const home = page.getByRole("link", { name: "La casa simulada" });
    await home.waitFor();
    expect(await page.getByRole("link", { name: "The simulated home" }).count()).toBe(0);
    await home.click();
    await page.waitForURL(`${site.url}/guides/home.es`);
    complaints.check();
  });

  it("is searched by the palette too", async () => {
    const { site, page, complaints } = shared;
    await page.keyboard.press("Control+k");
    await page.keyboard.type("approvals");
    await page.getByRole("option", { name: /Access Guide · Approvals/ }).click();
    await page.waitForURL(`${site.url}/guides/access#approvals`);
    complaints.check();
  });
});

describe("an unknown address", () => {
  it("shows the nearest page and a search, within the console", async () => {
    const { site, page, complaints } = shared;
    await shared.startBoard("desk");
    complaints.expectRefusal(404);
    await page.goto(`${site.url}/tokenz`);
    await page.getByRole("heading", { level: 1, name: "This page does not exist" }).waitFor();
    await page.getByText("There is no page at /tokenz.").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
    await page.goto(`${site.url}/device/desk`);
    await page.getByRole("main").getByRole("link", { name: "Fleet" }).waitFor();
    await page.getByRole("combobox", { name: "Go to" }).fill("desk");
    await page.getByRole("option", { name: /^desk esp-box-3/ }).click();
    await page.getByRole("heading", { name: "desk" }).waitFor();
    await page.goto(`${site.url}/guides/nothing-like-this`);
    await page.getByRole("heading", { level: 1, name: "This page does not exist" }).waitFor();
    complaints.check();
  });
});

describe("a page while the gateway is away", () => {
  it("does not blame the device for a status that the page cannot know", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [] });
    const { page } = await openConsole(site, `/devices/${device.id}`);
    await page.getByText("This device does not report a status.").waitFor();
    device.cut();
    await site.tendon.stop();
    await page.getByText("The gateway does not answer, so the device's status is not known here.").waitFor();
    expect(await page.getByText("This device does not report a status.").count()).toBe(0);
    await until(async () => (await page.getByText(/^Offline/).count()) === 0, "no claim about the device");
  });
});
