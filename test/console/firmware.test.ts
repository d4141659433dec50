/** The firmware page: uploading an image, watching its roll-out, changing its share, halting and removing it. */
import fs from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { handIn, imageView, offerOf, update } from "../firmware/boards.ts";
import { makeImage } from "../firmware-image.ts";
import { openConsole } from "./browser.ts";
import { linkFor } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const config = { devices: { admission: "open", transport: "websocket" } } as const;
const shared = sharedConsole({ site: { config } });

/** No event tells the page that images were removed, so each test loads it. */
beforeEach(async () => {
  const { body } = await shared.site.rest("GET", "/firmware");
  for (const { id } of body["images"] as { id: string }[])
    await shared.site.rest("DELETE", `/firmware/${id}`);
});

/** A board that has connected once, because a roll-out counts only known boards. */
async function joinBoard(): Promise<string> {
  const deviceId = shared.newDeviceId();
  const board = await shared.site.join({ deviceId, clientId: `client-of-${deviceId}` });
  onTestFinished(() => board.cut());
  return board.id;
}

async function choose(page: Page, file: Buffer, board: string): Promise<void> {
  await page.getByRole("button", { name: "Upload image" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByLabel("File")
    .setInputFiles({ name: "xiaozhi.bin", mimeType: "application/octet-stream", buffer: file });
  await dialog.getByLabel("Board", { exact: true }).fill(board);
}

const rowOf = (page: Page, version: string) =>
  page.getByRole("listitem", { name: `${version} for esp-box-3` });

describe("the firmware page", () => {
  it("uploads an image and shows its progress live", { timeout: 30_000 }, async () => {
    const { site, page, complaints } = shared;
    const boards = [await joinBoard(), await joinBoard()] as const;
    await shared.load("/");
    await page.getByRole("navigation").first().getByRole("link", { name: "Firmware" }).click();
    await page.getByRole("heading", { name: "No images yet" }).waitFor();
    await choose(page, makeImage({ codeBytes: 100_000 }), "esp-box-3");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Start with a tag or a small share").waitFor();
    await dialog
      .getByText("100 % of the esp-box-3 boards are offered it the next time they start.")
      .waitFor();
    await dialog.getByRole("button", { name: "Upload" }).click();
    const row = rowOf(page, "2.5.0");
    await row.getByText("Offered", { exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Read the guide" }).getAttribute("href")).toBe(
      "/guides/firmware-updates",
    );
    await row.getByText("for 100 % of the boards").waitFor();
    await row.getByText("No board has requested it yet.").waitFor();
    await update(site, boards[0], "2.5.0");
    await row.getByText("1 updated").waitFor();
    await update(site, boards[1], "2.4.2");
    await row.getByText("1 failed").waitFor();
    complaints.check();
  });

  it("shows why an image was halted and on which boards it failed, and resumes it", {
    timeout: 30_000,
  }, async () => {
    const { site, page, complaints } = shared;
    const boards = [await joinBoard(), await joinBoard(), await joinBoard()] as const;
    const id = String((await handIn(site, makeImage())).body["id"]);
    for (const board of boards.slice(0, 2)) await update(site, board, "2.4.2");
    await shared.load("/firmware");
    const row = rowOf(page, "2.5.0");
    await row.getByText("2 failed").waitFor();
    await update(site, boards[2], "2.4.2");
    await row.getByText("Halted", { exact: true }).waitFor();
    await row.getByText("3 of 3 devices failed to update").waitFor();
    await row.getByText("Boards that failed to update").click();
    await row.getByRole("listitem").filter({ hasText: "2.4.2" }).first().waitFor();
    await row.getByRole("button", { name: "Resume" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Earlier failures no longer count.").waitFor();
    await dialog.getByLabel("Offer it again to boards that failed to update").click();
    await dialog.getByRole("button", { name: "Resume" }).click();
    await row.getByText("Offered", { exact: true }).waitFor();
    expect(await imageView(site, id)).toMatchObject({ state: "offered", haltedReason: null });
    expect(await offerOf(site, { id: boards[0] })).toBeDefined();
    complaints.check();
  });

  it("explains the effect of a change before it is made", { timeout: 30_000 }, async () => {
    const { site, page, complaints } = shared;
    const id = String((await handIn(site, makeImage(), { share: "10" })).body["id"]);
    await shared.load("/firmware");
    const row = rowOf(page, "2.5.0");
    const dialog = page.getByRole("dialog");
    await row.getByRole("button", { name: "Change offer" }).click();
    await dialog.getByRole("slider").press("PageUp");
    await dialog.getByText(/^20 % of the esp-box-3 boards are offered 2\.5\.0/).waitFor();
    await dialog.getByRole("button", { name: "Change offer" }).click();
    await row.getByText("for 20 % of the boards").waitFor();
    await row.getByRole("button", { name: "Halt" }).click();
    await dialog.getByText(/^No more boards are offered it/).waitFor();
    // Cancel has the focus, and Escape cancels too.
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

  it("offers an image by tag, and changes the tags", { timeout: 30_000 }, async () => {
    const { site, page, complaints } = shared;
    const [lab, plain] = [await joinBoard(), await joinBoard()];
    await site.rest("PATCH", `/devices/${lab}`, { tags: ["lab"] });
    await shared.load("/firmware");
    await choose(page, makeImage(), "esp-box-3");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "lab", exact: true }).click();
    expect(await dialog.getByLabel("Tags").inputValue()).toBe("lab");
    await dialog.getByText("100 % of the esp-box-3 boards with the tag lab are offered it").waitFor();
    await dialog.getByRole("button", { name: "Upload" }).click();
    const row = rowOf(page, "2.5.0");
    await row.getByText("for 100 % of the boards with the tag lab").waitFor();
    expect(await offerOf(site, { id: lab })).toBeDefined();
    expect(await offerOf(site, { id: plain })).toBeUndefined();
    await row.getByRole("button", { name: "Change offer" }).click();
    expect(await dialog.getByRole("button", { name: "Change offer" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Tags").fill("lab, beta");
    await dialog.getByRole("button", { name: "Change offer" }).click();
    await row.getByText("for 100 % of the boards with the tag lab or beta").waitFor();
    await row.getByRole("button", { name: "Change offer" }).click();
    await dialog.getByLabel("Tags").fill("");
    await dialog.getByText(/^100 % of the esp-box-3 boards are offered 2\.5\.0/).waitFor();
    await dialog.getByRole("button", { name: "Change offer" }).click();
    await row.getByText("for 100 % of the boards", { exact: false }).waitFor();
    await dialog.waitFor({ state: "detached" });
    expect((await site.rest("GET", "/firmware")).body["images"]).toMatchObject([{ tags: [], share: 100 }]);
    complaints.check();
  });

  it("explains why a file is rejected, and keeps the input", async () => {
    const { site, page, complaints } = shared;
    await shared.load("/firmware");
    await choose(page, Buffer.from("no image at all"), "esp-box-3");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Upload" }).click();
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
    await dialog.getByText("The file is 20 MiB; an image may be at most 16 MiB.").waitFor();
    expect(await dialog.getByRole("button", { name: "Upload" }).isDisabled()).toBe(true);
    complaints.expectRefusal(400);
    complaints.expectRefusal(422);
    complaints.check();
  });

  it("is available to administrators only", async () => {
    const { site } = shared;
    const link = await linkFor(site, "reader", ["read", "provision"]);
    const { page, complaints } = await openConsole(site, "/firmware", {}, link);
    await page.getByText("Only administrators can manage firmware.").waitFor();
    const places = page.getByRole("navigation").first();
    expect(await places.getByRole("link", { name: "Firmware" }).count()).toBe(0);
    complaints.check();
  });
});
