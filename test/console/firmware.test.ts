/** Firmware as an administrator looks after it: handing in, watching, widening, halting, removing. */
import fs from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { boardId, handIn, imageView, offerOf, update } from "../firmware/boards.ts";
import { makeImage } from "../firmware-image.ts";
import type { Site } from "../site.ts";
import { openConsole } from "./browser.ts";
import { openConsoleSite } from "./console-site.ts";

/** With boards that have connected once: before, they are nobody's business. */
async function openFirmwareSite(boards = 0): Promise<Site> {
  const site = await openConsoleSite({ config: { devices: { admission: "open", transport: "websocket" } } });
  for (let number = 1; number <= boards; number += 1) await site.join({ deviceId: boardId(number) });
  return site;
}

async function choose(page: Page, file: Buffer, board: string): Promise<void> {
  await page.getByRole("button", { name: "Hand in an image" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByLabel("File")
    .setInputFiles({ name: "xiaozhi.bin", mimeType: "application/octet-stream", buffer: file });
  await dialog.getByLabel("Board", { exact: true }).fill(board);
}

const rowOf = (page: Page, version: string) =>
  page.getByRole("listitem", { name: `${version} for esp-box-3` });

describe("the firmware page", () => {
  it("takes an image in, and shows live how far it comes", { timeout: 30_000 }, async () => {
    const site = await openFirmwareSite(2);
    const { page, complaints } = await openConsole(site);
    await page.getByRole("navigation").first().getByRole("link", { name: "Firmware" }).click();
    await page.getByRole("heading", { name: "No images yet" }).waitFor();
    await choose(page, makeImage({ codeBytes: 100_000 }), "esp-box-3");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("10 % of the esp-box-3 boards are offered it when they start next.").waitFor();
    await dialog.getByRole("slider", { name: "Share of the boards" }).press("End");
    await dialog.getByText("100 % of the esp-box-3 boards are offered it when they start next.").waitFor();
    await dialog.getByRole("button", { name: "Hand in" }).click();
    const row = rowOf(page, "2.5.0");
    await row.getByText("Offered", { exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Read the guide" }).getAttribute("href")).toBe(
      "/guides/firmware-updates",
    );
    await row.getByText("for 100 % of the boards").waitFor();
    await row.getByText("No board has asked for it yet.").waitFor();
    await update(site, boardId(1), "2.5.0");
    await row.getByText("1 updated").waitFor();
    await update(site, boardId(2), "2.4.2");
    await row.getByText("1 did not come back").waitFor();
    complaints.check();
  });

  it("says why it halted and on which boards, and goes on when told to", { timeout: 30_000 }, async () => {
    const site = await openFirmwareSite(3);
    const id = String((await handIn(site, makeImage())).body["id"]);
    for (const number of [1, 2]) await update(site, boardId(number), "2.4.2");
    const { page, complaints } = await openConsole(site, "/firmware");
    const row = rowOf(page, "2.5.0");
    await row.getByText("2 did not come back").waitFor();
    await update(site, boardId(3), "2.4.2");
    await row.getByText("Halted", { exact: true }).waitFor();
    await row.getByText("3 of 3 devices did not come back with it").waitFor();
    await row.getByText("Boards that did not come back").click();
    await row.getByRole("listitem").filter({ hasText: "2.4.2" }).first().waitFor();
    await row.getByRole("button", { name: "Go on" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("What failed so far no longer counts.").waitFor();
    await dialog.getByLabel("Offer it again to boards that did not come back").click();
    await dialog.getByRole("button", { name: "Go on" }).click();
    await row.getByText("Offered", { exact: true }).waitFor();
    expect(await imageView(site, id)).toMatchObject({ state: "offered", haltedReason: null });
    expect(await offerOf(site, { id: boardId(1) })).toBeDefined();
    complaints.check();
  });

  it("names what a change leads to before it is made", { timeout: 30_000 }, async () => {
    const site = await openFirmwareSite();
    const id = String((await handIn(site, makeImage(), { share: "10" })).body["id"]);
    const { page, complaints } = await openConsole(site, "/firmware");
    const row = rowOf(page, "2.5.0");
    const dialog = page.getByRole("dialog");
    await row.getByRole("button", { name: "Change share" }).click();
    await dialog.getByRole("slider").press("PageUp");
    await dialog.getByText(/^20 % of the esp-box-3 boards are offered 2\.5\.0/).waitFor();
    await dialog.getByRole("button", { name: "Change share" }).click();
    await row.getByText("for 20 % of the boards").waitFor();
    await row.getByRole("button", { name: "Halt" }).click();
    await dialog.getByText(/^From now on no board is offered it/).waitFor();
    // Nothing that happens by accident: the harmless answer has the focus, and Escape is one.
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Cancel");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await imageView(site, id)).toMatchObject({ state: "offered", share: 20 });
    await row.getByRole("button", { name: "Halt" }).click();
    await dialog.getByRole("button", { name: "Halt" }).click();
    await row.getByText("halted by admin").waitFor();
    await row.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await dialog.getByText(/Boards that have it keep it\.$/).waitFor();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "No images yet" }).waitFor();
    expect((await site.rest("GET", "/firmware")).body["images"]).toEqual([]);
    complaints.check();
  });

  it("says why a file is not taken, and keeps what was typed", async () => {
    const site = await openFirmwareSite();
    const { page, complaints } = await openConsole(site, "/firmware");
    await choose(page, Buffer.from("no image at all"), "esp-box-3");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Hand in" }).click();
    await dialog
      .getByRole("alert")
      .getByText(/0xE9|image/)
      .first()
      .waitFor();
    expect(await dialog.getByLabel("Board", { exact: true }).inputValue()).toBe("esp-box-3");
    const merged = path.join(site.folder, "merged.bin");
    fs.writeFileSync(merged, "");
    fs.truncateSync(merged, 20 * 1024 * 1024);
    await dialog.getByLabel("File").setInputFiles(merged);
    await dialog.getByText("An image has 16 MiB at most; this file has 20 MiB.").waitFor();
    expect(await dialog.getByRole("button", { name: "Hand in" }).isDisabled()).toBe(true);
    complaints.expectRefusal(400);
    complaints.expectRefusal(422);
    complaints.check();
  });

  it("is for administrators", async () => {
    const site = await openFirmwareSite();
    const made = await site.rest("POST", "/tokens", { name: "reader", scopes: ["read", "provision"] });
    const headers = { authorization: `Bearer ${String(made.body["token"])}` };
    const { body } = await site.rest("POST", "/session/codes", undefined, headers);
    const { page, complaints } = await openConsole(site, "/firmware", {}, String(body["url"]));
    await page.getByText("Only an administrator looks after firmware.").waitFor();
    const places = page.getByRole("navigation").first();
    expect(await places.getByRole("link", { name: "Firmware" }).count()).toBe(0);
    complaints.check();
  });
});
