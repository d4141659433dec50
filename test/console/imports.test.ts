import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { bringInspector, seriousFindings } from "./accessibility.ts";
import { openConsole } from "./browser.ts";
import { desk, linkFor, startBoard } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const mac = (number: number) => `02:00:00:00:03:${number.toString(16).padStart(2, "0")}`;
const key = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

describe("imported devices on the fleet page", () => {
  const shared = sharedConsole();

  it("are listed until they connect, found by search, and removed", async () => {
    const { site } = shared;
    const rows = Array.from({ length: 25 }, (_, number) => ({ id: mac(number), tags: ["line-7"] }));
    const proved = { id: mac(25), serial: "SN-25", hmacKey: key };
    await site.rest("POST", "/devices/import", { devices: [...rows, proved] });
    await shared.load("/");
    const { page, complaints } = shared;
    await page.getByRole("button", { name: /^26 imported devices have not connected yet/ }).click();
    const list = page.getByRole("region", { name: "Imported devices that have not connected" });
    await list.getByText(mac(0)).waitFor();
    expect(await list.getByRole("listitem").count()).toBe(20);
    await list.getByRole("button", { name: "Show more" }).click();
    const last = list.getByRole("listitem").filter({ hasText: mac(25) });
    await last.waitFor();
    expect(await last.textContent()).toMatch(/serial number SN-25 · with a key/);
    expect(await page.content()).not.toContain(key);
    await bringInspector(page);
    expect(await seriousFindings(page, "all")).toEqual([]);

    await list.getByRole("searchbox").fill("sn-25");
    await until(async () => (await list.getByRole("listitem").count()) === 1, "one row");
    await list.getByRole("button", { name: `Remove ${mac(25)} from the list` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("25 imported devices have not connected yet").waitFor();
    await list.getByText("No matching imported devices").waitFor();

    // An import elsewhere shows at once.
    await site.rest("POST", "/devices/import", { devices: [{ id: desk }] });
    await page.getByText("26 imported devices have not connected yet").waitFor();
    await startBoard(site, desk, "desk");
    await page.getByText("25 imported devices have not connected yet").waitFor();
    complaints.check();
  });

  it("are shown only to tokens that may import", async () => {
    const { site } = shared;
    await site.rest("POST", "/devices/import", { devices: [{ id: mac(1) }] });
    const { page, complaints } = await openConsole(site, "/", {}, await linkFor(site, "viewer", ["read"]));
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(await page.getByText(/imported devices? ha/).count()).toBe(0);
    complaints.check();
  });
});
