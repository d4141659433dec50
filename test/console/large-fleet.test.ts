import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { placeLargeFleet } from "../../packages/gateway/test/store/large-fleet.ts";
import { storeFleet } from "../../packages/gateway/test/store/stored-fleet.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { openConsole } from "./browser.ts";
import { sharedConsole } from "./shared-console.ts";

it("loads a part of a very large fleet once, and counts all of it", async () => {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
  onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
  await placeLargeFleet(data, 10_600);
  const site = await openSite({ config: { data } });
  await site.join({ deviceId: "ff:00:00:00:00:01" });
  const { page, complaints } = await openConsole(site, "/audit");
  const pages: string[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/api/v1/devices" && searchParams.get("limit") === "500")
      pages.push(searchParams.get("cursor") ?? "first");
  });
  await page.getByRole("link", { name: "Fleet", exact: true }).first().click();
  await page.getByText("1 online · 10,600 offline").waitFor();
  await page.getByText("Showing the first 10,000 of 10,601 devices.").waitFor();
  await until(() => pages.length >= 21, "20 pages in the order of the list");
  // A device that is not among the loaded rows changes the counts, and loads no page again.
  await site.join({ deviceId: "ff:00:00:00:00:02" });
  await page.getByText("2 online · 10,600 offline").waitFor();
  await page.getByText("Showing the first 10,000 of 10,602 devices.").waitFor();
  expect(pages.filter((cursor) => cursor === "first")).toHaveLength(2);
  expect(pages).toHaveLength(21);
  complaints.check();
}, 60_000);

describe("the fleet page with hundreds of devices", () => {
  const shared = sharedConsole({
    site: async (started) => {
      const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
      started.atEnd(() => fs.rmSync(data, { recursive: true, force: true }));
      await storeFleet(data, 520, []);
      return { config: { data } };
    },
  });

  it("renders only the visible rows, and moves through them with arrow keys", async () => {
    const { page } = shared;
    await shared.load("/");
    await page.getByText("520 offline").waitFor();
    const rows = page.getByRole("list", { name: "Fleet" }).getByRole("link");
    expect(await rows.count()).toBeLessThan(60);
    // The devices of the second page are in the list, not announced as new.
    expect(await page.getByRole("button", { name: /new device/ }).count()).toBe(0);
    await rows.first().focus();
    for (let step = 0; step < 3; step += 1) await page.keyboard.press("ArrowDown");
    expect(await page.evaluate("document.activeElement.dataset.at")).toBe("3");
    await page.keyboard.press("End");
    await page.locator('[data-at="519"]:focus').waitFor();
  });

  it("keeps search, order, position and focus when the user comes back from a device", async () => {
    const { page, complaints } = shared;
    await shared.load("/");
    await page.getByText("520 offline").waitFor();
    await page.getByLabel("Search devices").fill("00:01:");
    await page.getByRole("button", { name: /^Tools/ }).click();
    await page.getByRole("button", { name: "Tools descending" }).waitFor();
    await page.getByRole("list", { name: "Fleet" }).getByRole("link").first().focus();
    await page.keyboard.press("End");
    const last = page.locator('[data-at="255"]:focus');
    await last.getByText("02:00:00:00:01:ff").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "device-511" }).waitFor();
    // The focus is on the page, not at the top of the menu.
    await page.locator("#main:focus").waitFor();
    await page.keyboard.press("Escape");
    await last.waitFor();
    expect(await last.textContent()).toContain("02:00:00:00:01:ff");
    expect(await last.isVisible()).toBe(true);
    expect(await page.getByLabel("Search devices").inputValue()).toBe("00:01:");
    await page.getByRole("button", { name: "Tools descending" }).waitFor();
    complaints.check();
  });
});
