/** The palette (⌘K) finds the tools of the whole fleet and opens their forms by keyboard. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { ToolDefinition } from "@tendon/protocol";
import type { VirtualDevice } from "@tendon/simulator";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { storeFleet } from "../../packages/gateway/test/store/stored-fleet.ts";
import { until } from "../inbox.ts";
import { type AtEnd, openSite } from "../site.ts";
import { stallWatch } from "../stall-watch.ts";
import { openConsole } from "./browser.ts";
import { desk, kitchen, startBoard, untilOnline } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

describe("tools in the palette", () => {
  const shared = sharedConsole();
  let board: VirtualDevice;
  beforeAll(async () => {
    const atEnd: AtEnd = (stop) => shared.atEnd(stop);
    board = await startBoard(shared.site, desk, "desk", {}, atEnd);
    const away = await startBoard(shared.site, kitchen, "kitchen", { autoReconnect: false }, atEnd);
    await away.stop();
    await untilOnline(shared.site, kitchen, false);
  });

  it("are found on devices that were not opened before, and open with the focus in their form", async () => {
    const { site, page, complaints } = shared;
    await page.goto(site.url);
    await page.getByRole("link", { name: /desk/ }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("volume");
    const options = page.getByRole("option");
    await options.filter({ hasText: "desk › Set volume" }).waitFor();
    // Online devices come first; offline ones are marked. Guides follow.
    const titles = await options.filter({ hasText: "›" }).allTextContents();
    expect(titles).toEqual(["desk › Set volumeself.audio_speaker.set_volume", "kitchen › Set volumeOffline"]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "desk" }).waitFor();
    const slider = page.getByRole("slider", { name: "volume", exact: true });
    await slider.and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await until(() => board.state.get("volume") === 1, "the volume of the form");

    // Again from the same page, and then a user-only tool.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("desk vol");
    await options.filter({ hasText: "desk › Set volume" }).waitFor();
    await page.keyboard.press("Enter");
    await slider.and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("desk reboot");
    await options.filter({ hasText: "desk › Reboot" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    const run = page
      .getByRole("listitem")
      .filter({ hasText: "self.reboot" })
      .getByRole("button", { name: "Run" });
    await run.and(page.locator(":focus")).waitFor();
    complaints.check();
  });

  it("are found by touch on a narrow screen", async () => {
    const { page, complaints } = shared;
    await page.setViewportSize({ width: 360, height: 740 });
    await shared.go("/");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Go to …" }).click();
    const field = page.getByRole("combobox", { name: "Go to" });
    await field.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("bright");
    await page.getByRole("option", { name: /desk › Set brightness/ }).click();
    await page.getByRole("slider", { name: "brightness", exact: true }).and(page.locator(":focus")).waitFor();
    complaints.check();
  });

  it("keep the input: a page that renders late does not take the focus from an open palette", async () => {
    const { page, complaints } = shared;
    await shared.go("/");
    await page.getByRole("link", { name: /desk/ }).waitFor();
    await page.evaluate(
      "window.held = []; window.draw = window.requestAnimationFrame; window.requestAnimationFrame = (work) => window.held.push(work)",
    );
    await page.keyboard.press("Control+k");
    await page.keyboard.type("volume");
    await page.getByRole("option", { name: /desk › Set volume/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("slider", { name: "volume", exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("over");
    await page.evaluate(
      "window.requestAnimationFrame = window.draw; for (const work of window.held) work(performance.now())",
    );
    await page.keyboard.type("v");
    expect(await page.getByRole("combobox", { name: "Go to" }).inputValue()).toBe("overv");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    complaints.check();
  });

  it("are listed a few at a time for 2,000 devices", async () => {
    const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
    onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
    const names = ["self.audio_speaker.set_volume", "self.screen.set_brightness"];
    const tools = names.map(
      (name): ToolDefinition => ({
        name,
        description: "",
        inputSchema: { type: "object" },
        audience: "agent",
        repairs: [],
      }),
    );
    await stallWatch.ownWork(() => storeFleet(data, 2_000, tools));
    const site = await openSite({ config: { data } });
    const { page, complaints } = await openConsole(site);
    await page.getByText("2,000 offline").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("volume");
    const options = page.getByRole("option").filter({ hasText: "› Set volume" });
    await options.first().waitFor();
    expect(await options.count()).toBe(8);
    for (let step = 0; step < 7; step += 1) await page.keyboard.press("ArrowDown");
    const last = options.nth(7);
    expect(await last.getAttribute("aria-selected")).toBe("true");
    const [list, row] = [await page.getByRole("listbox").boundingBox(), await last.boundingBox()];
    expect((row?.y ?? 0) + (row?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0) + 1);
    complaints.check();
  }, 60_000);
});
