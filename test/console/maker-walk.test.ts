/** What a new user does first: add devices, copy their addresses, and try the controls. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { openConsole } from "./browser.ts";
import { desk, openConsoleSite, startBoard } from "./console-site.ts";

/** The console on `http://` with the gateway's address in the network, where the browser has no clipboard API. */
async function withoutClipboardApi(page: Page): Promise<void> {
  await page.addInitScript(`Object.defineProperty(navigator, "clipboard", { value: undefined })`);
  await page.reload();
  await page.getByRole("navigation").first().waitFor();
}

/** The clipboard's text, pasted into the search field of a page without dialogs. */
async function pasted(page: Page): Promise<string> {
  const field = page.getByLabel("Search devices");
  await field.fill("");
  await field.press("Control+V");
  return await field.inputValue();
}

describe("copying without the clipboard API", () => {
  it("copies a new token and the address for boards out of their dialogs", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, "/tokens");
    await withoutClipboardApi(page);
    await page.getByRole("button", { name: "Create token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("my-agent");
    await dialog.getByRole("button", { name: "Create token" }).click();
    const token = (await dialog.getByRole("figure").locator("pre").textContent())?.trim();
    await dialog.getByRole("button", { name: "Copy" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("navigation").getByRole("link", { name: "Fleet" }).first().click();
    expect(token).toMatch(/\w{20}/);
    expect(await pasted(page)).toBe(token);

    await page.goto(`${site.url}/?add=board`);
    await dialog.getByRole("figure", { name: "OTA address" }).getByRole("button", { name: "Copy" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await pasted(page)).toBe(`${site.url}/xiaozhi/ota/`);
    complaints.check();
  });

  it("selects the text and says so where the browser does not copy at all", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site);
    await page.addInitScript(`document.execCommand = () => false`);
    await withoutClipboardApi(page);
    await page.goto(`${site.url}/?add=board`);
    const address = page.getByRole("dialog").getByRole("figure", { name: "OTA address" });
    await address.getByRole("button", { name: "Copy" }).click();
    await address
      .getByText("Not copied. The text is selected: copy it with the keyboard or the menu.")
      .waitFor();
    expect(await address.getByRole("button", { name: "Copied" }).count()).toBe(0);
    expect(await page.evaluate("getSelection().toString().trim()")).toBe(`${site.url}/xiaozhi/ota/`);

    await page.goto(`${site.url}/devices/${desk}`);
    await page.getByRole("button", { name: /get_device_status/ }).click();
    await page.getByRole("button", { name: "Copy as" }).first().click();
    await page.getByRole("menuitem", { name: "curl" }).click();
    const offered = page.getByRole("dialog", { name: "Copy as" });
    await offered.getByText(/^Not copied\./).waitFor();
    expect(await page.evaluate("getSelection().toString()")).toMatch(/^curl -X POST/);
    complaints.check();
  });
});
