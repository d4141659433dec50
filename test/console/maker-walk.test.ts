/** What a new user does first: add devices, copy their addresses, and try the controls. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { openConsole, openPage } from "./browser.ts";
import { clientIdOf, desk, kitchen, openConsoleSite, startBoard, untilOnline } from "./console-site.ts";

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

/** A board that has asked for its settings and now shows a code. */
async function showCode(site: Site, mac: string): Promise<string> {
  const answer = await fetch(`${site.url}/xiaozhi/ota/`, {
    method: "POST",
    headers: { "Device-Id": mac, "Client-Id": clientIdOf(mac), "content-type": "application/json" },
    body: JSON.stringify({ board: { type: "esp-box-3" }, application: { version: "2.4.2" } }),
  });
  const { activation } = (await answer.json()) as { activation: { code: string } };
  return activation.code;
}

const rows = (page: Page) => page.getByRole("list", { name: "Fleet" }).getByRole("link");

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
    expect(token).toMatch(/[\w-]{20}/);
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

describe("a device that the user adds", () => {
  it("is confirmed and listed at once after its code, while other new devices still wait", async () => {
    const site = await openConsoleSite();
    await startBoard(site, kitchen, "kitchen");
    const { page, complaints } = await openConsole(site);
    await rows(page).filter({ hasText: "kitchen" }).waitFor();
    await startBoard(site, "02:00:00:00:00:03", "attic");
    await page.getByRole("button", { name: "Show 1 new device" }).waitFor();
    const code = await showCode(site, desk);
    await page.getByRole("button", { name: /^1 device is waiting for approval/ }).click();
    await page.getByLabel("Code on the board").fill(code);
    await page.getByRole("button", { name: "Approve by code" }).click();
    const note = page.getByRole("status").filter({ hasText: /is approved/ });
    await note.waitFor();
    const { alias } = await site.device(desk);
    expect(await note.textContent()).toContain(`${String(alias)} is approved`);
    await rows(page)
      .filter({ hasText: String(alias) })
      .waitFor();
    expect(await rows(page).count()).toBe(2);
    await page.getByRole("button", { name: "Show 1 new device" }).waitFor();
    await note.getByRole("link", { name: "Open the device" }).click();
    await page.waitForURL(`${site.url}/devices/${desk}`);
    complaints.check();
  });

  it("is told apart from a code that no board shows", async () => {
    const site = await openConsoleSite();
    await startBoard(site, kitchen, "kitchen");
    const code = await showCode(site, desk);
    const { page, complaints } = await openConsole(site);
    await page.getByRole("button", { name: /^1 device is waiting for approval/ }).click();
    complaints.expectRefusal(404);
    await page.getByLabel("Code on the board").fill(code === "000000" ? "000001" : "000000");
    await page.getByRole("button", { name: "Approve by code" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("No board shows this code.").waitFor();
    expect(await alert.textContent()).not.toMatch(/deleted|not found/i);
    complaints.check();
  });

  it("is listed at once when it is a virtual device", async () => {
    const site = await openConsoleSite({
      startDemoDevice: async () => {
        await startBoard(site, desk, "desk");
        return desk;
      },
    });
    await startBoard(site, kitchen, "kitchen");
    const { page, complaints } = await openConsole(site);
    await page.goto(`${site.url}/?add=virtual`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Start a virtual device" }).click();
    await dialog.getByText("Started. It is in the list now.").waitFor();
    await page.keyboard.press("Escape");
    await rows(page).filter({ hasText: "desk" }).waitFor();
    expect(await page.getByRole("button", { name: /new device/ }).count()).toBe(0);
    complaints.check();
  });
});

describe("the first steps on a phone", () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };

  it("close the dialog that adds a device, whose chosen kind has the focus", async () => {
    const site = await openConsoleSite({ startDemoDevice: async () => desk });
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, "/", phone);
    await page.goto(`${site.url}/?add=virtual`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Start a virtual device" }).waitFor();
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Virtual device");
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    complaints.check();
  });

  it("find every entry of the menu without scrolling", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, "/", phone);
    await page.getByRole("button", { name: "More" }).click();
    const menu = page.getByRole("menu");
    await menu.getByRole("menuitem", { name: "Sign out" }).waitFor();
    expect(await menu.evaluate((element) => element.scrollHeight - element.clientHeight)).toBe(0);
    complaints.check();
  });

  it("show Spanish texts in full", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, `/devices/${desk}`, { ...phone, locale: "es" });
    await page.getByRole("button", { name: "Activar sonido" }).waitFor();
    const cut = `[...document.querySelectorAll("nav span, section[aria-label=Controles] span, select")]
      .filter((element) => element.clientWidth > 0 && element.scrollWidth > element.clientWidth)
      .map((element) => element.textContent)`;
    expect(await page.evaluate(cut)).toEqual([]);
    await page.goto(`${site.url}/calls`);
    for (const name of ["Resultado", "Cuándo"]) {
      await page.getByRole("combobox", { name }).waitFor();
      // A select does not overflow. Its text is measured with the same font instead.
      const room = await page.evaluate(`(() => {
        const select = document.querySelector('select[aria-label="${name}"]');
        const { font, paddingLeft, paddingRight } = getComputedStyle(select);
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = font;
        const text = pen.measureText(select.selectedOptions[0].text).width;
        return select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - text;
      })()`);
      expect(room, name).toBeGreaterThan(0);
    }
    complaints.check();
  });
});

describe("a number typed beside a slider", () => {
  it.each([
    ["Volume", "300", "At most 100"],
    ["Brightness", "-1", "At least 0"],
  ])("of %s is not sent when it is %s", async (label, typed, problem) => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site, `/devices/${desk}`);
    const field = page.getByRole("spinbutton", { name: label });
    await field.fill(typed);
    await field.press("Enter");
    const panel = page.getByRole("alert").filter({ hasText: problem });
    await panel.waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    // A number in range is sent, and is the only call.
    await field.fill("42");
    await field.press("Enter");
    await panel.waitFor({ state: "hidden" });
    const tool = label === "Volume" ? "self.audio_speaker.set_volume" : "self.screen.set_brightness";
    await until(async () => (await callsOf(site, tool)).length > 0, "the call");
    expect(await callsOf(site, tool)).toEqual([{ [label.toLowerCase()]: 42 }]);
    complaints.check();
  });
});

async function callsOf(site: Site, tool: string): Promise<unknown[]> {
  const { body } = await site.rest("GET", `/calls?tool=${tool}`);
  const calls = body["calls"] as unknown as { callId: string }[];
  return await Promise.all(
    calls.map(async ({ callId }) => (await site.rest("GET", `/calls/${callId}`)).body["arguments"]),
  );
}

describe("the console explains", () => {
  it("the whole sign-in link in the field by signing in", async () => {
    const site = await openConsoleSite();
    const { page, complaints } = await openPage();
    await page.goto(site.url);
    const field = page.getByLabel("Token or code");
    await field.fill(`  ${site.tendon.consoleLink()} `);
    await field.press("Enter");
    await page.getByRole("navigation").first().waitFor();
    complaints.check();
  });

  it("how to run a home that is known and was never read", async () => {
    const site = await openConsoleSite();
    const device = await startBoard(site, desk, "home", { autoReconnect: false });
    await device.stop();
    await untilOnline(site, desk, false);
    const { page, complaints } = await openConsole(site, "/home");
    await page.getByRole("heading", { name: "The home is not running" }).waitFor();
    await page.getByText(/serve --demo/).waitFor();
    expect(await page.getByText("last known state").count()).toBe(0);
    complaints.check();
  });

  it("an unknown device with a link to the similar one", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "kitchen-lamp");
    const { page, complaints } = await openConsole(site, "/devices/kitchen-lmp");
    complaints.expectRefusal(404);
    const alert = page.getByRole("alert");
    await alert.getByText("Device not found").waitFor();
    expect(await alert.textContent()).not.toContain("`");
    await alert.getByRole("link", { name: "kitchen-lamp" }).click();
    await page.getByRole("heading", { name: "kitchen-lamp" }).waitFor();
    complaints.check();
  });

  it("a call that succeeded with Repeat, and its frames in the order of time", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { body } = await site.call(desk, "self.audio_speaker.set_volume", { volume: 20 });
    const { page, complaints } = await openConsole(site, `/calls/${String(body["callId"])}`);
    await page.getByRole("button", { name: "Repeat" }).waitFor();
    const frames = page.getByRole("group");
    await frames.nth(1).waitFor();
    expect(await frames.nth(0).textContent()).toContain("to device");
    expect(await frames.nth(1).textContent()).toContain("from device");
    complaints.check();
  });

  it("counts no device as offline while the gateway is away", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    const { page, context } = await openConsole(site);
    await page.getByText("1 online · 0 offline").waitFor();
    await context.setOffline(true);
    await page.getByText("Disconnected. Showing the last known state.").waitFor();
    expect(await page.getByText(/\d (online|offline)/).count()).toBe(0);
  });
});
