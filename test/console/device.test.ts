import type { VirtualDevice, VirtualDeviceOptions } from "@tendon/simulator";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { tool } from "../raw-device.ts";
import { linkFor, untilOnline } from "./console-site.ts";
import { type SharedConsole, sharedConsole } from "./shared-console.ts";

/** Starts a board and opens its page. */
async function openBoard(
  shared: SharedConsole,
  alias: string,
  options: VirtualDeviceOptions = {},
): Promise<VirtualDevice> {
  const device = await shared.startBoard(alias, options);
  await shared.go(`/devices/${device.id}`);
  return device;
}

/** Waits until a control shows this value. */
async function level(page: Page, name: string, value: number): Promise<void> {
  const field = page.getByRole("spinbutton", { name, exact: true });
  await until(async () => (await field.inputValue()) === String(value), `${name} ${value}`);
}

function toolRow(page: Page, name: string): Locator {
  return page
    .getByRole("listitem")
    .filter({ has: page.locator("[aria-expanded]") })
    .filter({ hasText: name });
}

describe("the device page", () => {
  const rules = [
    {
      device: "guarded",
      tool: "self.reboot",
      effect: "deny" as const,
      principal: "admin",
      reason: "not during a show",
    },
    { device: "guarded", tool: "self.screen.snapshot", effect: "confirm" as const },
  ];
  const shared = sharedConsole({ site: { config: { access: { rules } } } });

  it("opens by an encoded address, as some programs write it", async () => {
    const { page, complaints } = shared;
    const device = await shared.startBoard("encoded");
    await shared.load(`/devices/${encodeURIComponent(device.id)}`);
    await page.getByRole("heading", { name: "encoded" }).waitFor();
    await level(page, "Volume", 70);
    complaints.check();
  });

  it("changes values with its controls and shows the device's answer", async () => {
    const { site, page, complaints } = shared;
    const device = await openBoard(shared, "changed");
    const volume = page.getByRole("slider", { name: "Volume" });
    await level(page, "Volume", 70);
    await volume.press("ArrowRight");
    await until(() => device.state.get("volume") === 71, "the device's volume");
    await level(page, "Volume", 71);
    // A typed number is sent with Enter.
    await page.getByRole("spinbutton", { name: "Volume" }).fill("100");
    await page.keyboard.press("Enter");
    await until(() => device.state.get("volume") === 100, "the typed volume");
    await page.getByRole("spinbutton", { name: "Volume" }).fill("3");
    await page.keyboard.press("Escape");
    await level(page, "Volume", 100);
    await page.getByRole("radio", { name: "Dark" }).check();
    await until(() => device.state.get("theme") === "dark", "the device's theme");
    // Another client changes the value; the page follows.
    await site.call(device.id, "self.audio_speaker.set_volume", { volume: 15 });
    await level(page, "Volume", 15);
    await page.getByRole("button", { name: "Louder", exact: true }).click();
    await page.getByText("Volume 25 %").waitFor();
    await page.getByRole("button", { name: "Mute", exact: true }).click();
    await until(() => device.state.get("volume") === 0, "silence");
    complaints.check();
  });

  it("shows the status at opening, not the one before the last call", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("muted");
    await site.rest("POST", `/devices/${device.id}/control`, { action: "mute" });
    expect(device.state.get("volume")).toBe(0);
    // The mute action read the level first, so the last status has 70.
    expect(await site.device(device.id)).toMatchObject({
      status: { value: { audio_speaker: { volume: 70 } } },
    });
    await shared.go(`/devices/${device.id}`);
    await level(page, "Volume", 0);
    complaints.check();
  });

  it("restores the value and shows the reason when the device fails", async () => {
    const { page } = shared;
    const device = await openBoard(shared, "failing", { autoReconnect: false });
    await level(page, "Volume", 70);
    await device.stop();
    await page.getByText(/^Offline/).waitFor();
    await page.getByText("Disconnected. Showing what the device reported last.").waitFor();
    expect(await page.getByRole("slider", { name: "Volume" }).getAttribute("data-disabled")).not.toBeNull();
  });

  it("shows a value as text when the device has no tool to change it", async () => {
    const { page, complaints } = shared;
    const device = await shared.join({ tools: [tool("self.get_device_status")] });
    await shared.go(`/devices/${device.id}`);
    const asked = await device.nextRequest("tools/call");
    const text = JSON.stringify({ audio_speaker: { volume: 40 }, screen: { theme: "dark" } });
    device.reply(asked.id, { content: [{ type: "text", text }], isError: false });
    await page.getByText("40 %").waitFor();
    await page.getByText("Dark", { exact: true }).waitFor();
    expect(await page.getByRole("slider").count()).toBe(0);
    complaints.check();
  });

  it("shows a form for every tool, generated from its schema and checked before sending", async () => {
    const { site, page, complaints } = shared;
    const { id } = await openBoard(shared, "forms");
    await page.getByText("self.audio_speaker.set_volume").click();
    const item = toolRow(page, "self.audio_speaker.set_volume");
    await item.getByRole("slider", { name: "volume" }).press("Home");
    await item.getByRole("button", { name: "Run", exact: true }).click();
    await item.getByText("Done").waitFor();
    const preview = toolRow(page, "self.screen.preview_image");
    await page.getByText("self.screen.preview_image").click();
    await preview.getByRole("button", { name: "Run", exact: true }).click();
    await preview.getByText("Enter a value").waitFor();
    expect(
      (await site.rest("GET", `/calls?device=${id}&tool=self.screen.preview_image`)).body["calls"],
    ).toEqual([]);
    await item.getByRole("button", { name: "Copy as" }).click();
    for (const name of ["curl", "Command", "MCP"]) await page.getByRole("menuitem", { name }).waitFor();
    await page.getByRole("menuitem", { name: "Command" }).click();
    await item.getByRole("button", { name: "Copied" }).waitFor();
    complaints.check();
  });

  it("asks for confirmation before a user-only tool, and explains its effect", async () => {
    const { site, page, complaints } = shared;
    const { id } = await openBoard(shared, "restarted");
    const restarts = async () =>
      (await site.rest("GET", `/calls?device=${id}&tool=self.reboot`)).body["calls"];
    const reboot = toolRow(page, "self.reboot");
    await page.getByRole("heading", { name: "User-only tools" }).waitFor();
    await reboot.getByRole("button", { name: "Run", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Restarts the device. It is offline for about ten seconds.").waitFor();
    await dialog.getByText(`restarted (${id})`).waitFor();
    // Cancel has the focus, and Escape cancels too.
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Cancel");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await restarts()).toEqual([]);
    await reboot.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByRole("button", { name: "Run Reboot" }).click();
    await reboot.getByText("done: the device disconnected to run it").waitFor();
    expect(await restarts()).toMatchObject([{ outcome: "ok" }]);
    await untilOnline(site, id, true);
    complaints.check();
  });

  it("starts forms at the present values, and sends typed numbers", async () => {
    const { site, page, complaints } = shared;
    const device = await openBoard(shared, "typed");
    await level(page, "Volume", 70);
    await page.getByText("self.audio_speaker.set_volume").click();
    const row = toolRow(page, "self.audio_speaker.set_volume");
    const field = row.getByRole("spinbutton", { name: /^volume/ });
    expect(await field.inputValue()).toBe("70");
    // The form follows the device until the user changes it.
    await site.call(device.id, "self.audio_speaker.set_volume", { volume: 35 });
    await until(async () => (await field.inputValue()) === "35", "the new volume in the form");
    await field.fill("300");
    await row.getByRole("button", { name: "Run", exact: true }).click();
    await row.getByText("At most 100").waitFor();
    await field.fill("62");
    await row.getByRole("button", { name: "Run", exact: true }).click();
    await row.getByText("Done").waitFor();
    expect(device.state.get("volume")).toBe(62);
    await page.getByText("self.screen.set_theme").click();
    const theme = toolRow(page, "self.screen.set_theme").getByRole("textbox", { name: "theme" });
    expect(await theme.inputValue()).toBe("light");
    complaints.check();
  });

  it("groups tools by purpose, and marks only destructive ones as dangerous", async () => {
    const { page, complaints } = shared;
    await openBoard(shared, "grouped");
    for (const name of ["Sound", "Camera", "System and firmware"])
      await page.getByRole("heading", { name, exact: true }).first().waitFor();
    const look = (tool: string) =>
      toolRow(page, tool).getByRole("button", { name: "Run", exact: true }).getAttribute("class");
    expect(await look("self.get_system_info")).not.toContain("text-bad");
    expect(await look("self.reboot")).toContain("text-bad");
    // A tool that only reads runs without a confirmation.
    await toolRow(page, "self.get_system_info").getByRole("button", { name: "Run", exact: true }).click();
    await toolRow(page, "self.get_system_info").getByText("Done").waitFor();
    complaints.check();
  });

  it("shows the Markdown of a description as text, without its HTML and its scripts", async () => {
    const { page, complaints } = shared;
    const description =
      "Blinks **twice**.\nArgs:\n  `times`: how often <b>it</b>\n- [manual](https://example.com/x)\n- [bad](javascript:alert(1))";
    const device = await shared.join({ tools: [{ ...tool("self.lamp.blink"), description }] });
    await shared.go(`/devices/${device.id}`);
    await page.getByText("Blinks twice. Args: times: how often <b>it</b>").waitFor();
    await page.getByText("self.lamp.blink").click();
    const row = toolRow(page, "self.lamp.blink");
    await row.locator("strong", { hasText: "twice" }).waitFor();
    await row.locator("code", { hasText: "times" }).waitFor();
    await row.getByText("<b>it</b>").waitFor();
    expect(await row.getByRole("link").allTextContents()).toEqual(["manual"]);
    await row.getByText("(example.com)").waitFor();
    complaints.check();
  });

  it("shows that a rule rejects a call before it asks for confirmation", async () => {
    const { site, page, complaints } = shared;
    const { id } = await openBoard(shared, "guarded");
    await toolRow(page, "self.reboot").getByText("not allowed for your token").waitFor();
    await page.getByText("Each use requires approval.").waitFor();
    expect(await toolRow(page, "self.reboot").getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
    // The address of the file decides here, so the gateway is asked first.
    await page.getByText("self.upgrade_firmware").click();
    const upgrade = toolRow(page, "self.upgrade_firmware");
    await upgrade.getByLabel("url").fill("http://192.0.2.9/image.bin");
    complaints.expectRefusal(403);
    await upgrade.getByRole("button", { name: "Run", exact: true }).click();
    await upgrade.getByRole("alert").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect((await site.rest("GET", `/calls?device=${id}&tool=self.upgrade_firmware`)).body["calls"]).toEqual(
      [],
    );
    // A call that needs approval says so in its confirmation.
    await page.getByText("self.screen.snapshot").first().click();
    await toolRow(page, "self.screen.snapshot").getByRole("button", { name: "Run", exact: true }).click();
    await page
      .getByRole("dialog")
      .getByText(/^An access rule requires approval/)
      .waitFor();
    complaints.check();
  });

  it("takes a photo and shows it", async () => {
    const { page, complaints } = shared;
    await openBoard(shared, "photographed");
    await page.getByLabel("Question about the photo").fill("Who is there?");
    await page.getByRole("button", { name: "Take photo", exact: true }).click();
    const picture = page.getByRole("img", { name: "Image from the device" });
    await picture.waitFor();
    expect(await page.evaluate("document.querySelector('main img').naturalWidth")).toBeGreaterThan(10);
    complaints.check();
  });

  it("[CAM-4] takes a screenshot and shows it, in the panel and from the tool's form", async () => {
    const { page, complaints } = shared;
    await openBoard(shared, "captured");
    await page.getByText("Shows what is on the device's screen.").waitFor();
    await page.getByRole("button", { name: "Take screenshot", exact: true }).click();
    const picture = page.getByRole("img", { name: "Image from the device" });
    await picture.waitFor();
    expect(await page.evaluate("document.querySelector('main img').naturalWidth")).toBe(320);
    const item = toolRow(page, "self.screen.snapshot");
    await page.getByText("self.screen.snapshot").first().click();
    await item.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run Snapshot" }).click();
    await item.getByRole("img", { name: "Image from the device" }).waitFor();
    complaints.check();
  });

  it("[CAM-4] offers screenshots only if the device has a screen", async () => {
    const { page, complaints } = shared;
    await openBoard(shared, "screenless", { board: { snapshot: false } });
    await page.getByRole("button", { name: "Take photo", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Take screenshot", exact: true }).count()).toBe(0);
    complaints.check();
  });

  it("shows the device's calls, events and frames, with secrets masked", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("recorded");
    await site.call(device.id, "self.camera.take_photo", { question: "?" });
    await shared.go(`/devices/${device.id}`);
    await page.getByRole("list", { name: "Calls" }).getByText("self.camera.take_photo").first().waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    await device.stop();
    await page.getByText("device.offline").waitFor();
    await page.getByRole("tab", { name: "Frames" }).click();
    await page
      .getByText(/"method":"tools\/call"/)
      .first()
      .waitFor();
    await page
      .getByText(/"method":"initialize"/)
      .first()
      .click();
    await page
      .getByText(/"token": "•••"/)
      .first()
      .waitFor();
    complaints.check();
  });

  it("renames, tags, revokes and deletes the device", async () => {
    const { site, page, complaints } = shared;
    const { id } = await shared.startBoard("renamed");
    await shared.startBoard("kept");
    await site.call(id, "self.audio_speaker.set_volume", { volume: 30 });
    await shared.go("/devices/renamed");
    await page.getByRole("button", { name: "Rename and tag" }).click();
    await page.getByLabel("Name", { exact: true }).fill("study");
    await page.getByLabel("Tags", { exact: true }).fill("quiet upstairs");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "study" }).waitFor();
    expect(await site.device("study")).toMatchObject({ id, tags: ["quiet", "upstairs"] });
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await untilOnline(site, id, false);
    await page.getByText(/^Offline/).waitFor();
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByLabel("Also delete its calls, events and photos").check();
    await page
      .getByRole("dialog")
      .getByText(/everything recorded about it/)
      .waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    const fleet = page.getByRole("list", { name: "Fleet" });
    await fleet.getByText("kept", { exact: true }).waitFor();
    expect(await fleet.getByText("study").count()).toBe(0);
    expect((await site.rest("GET", `/calls?device=${id}`)).body["calls"]).toEqual([]);
    complaints.check();
  });
});

describe("the device page of a user with fewer rights", () => {
  const rules = [
    {
      device: "limited",
      tool: "self.audio_speaker.*",
      effect: "confirm" as const,
      principal: "guest",
    },
    { device: "limited", tool: "self.screen.*", effect: "deny" as const, principal: "guest" },
  ];
  const shared = sharedConsole({
    site: { config: { access: { rules } } },
    link: (site) => linkFor(site, "guest", ["read", "call"]),
  });

  it("explains beside a control why it is disabled, and links to the request form", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("limited", { autoReconnect: false });
    await site.call(device.id, "self.get_device_status");
    await shared.go(`/devices/${device.id}`);
    const reason = async (knob: Locator) => {
      const id = (await knob.getAttribute("aria-describedby")) ?? "";
      return await page.locator(`[id="${id}"]`).textContent();
    };
    const volume = page.getByRole("slider", { name: "Volume", exact: true });
    await page.getByText("Each change requires approval.").waitFor();
    expect(await reason(volume)).toBe("Each change requires approval. Request a change");
    for (const knob of [
      page.getByRole("slider", { name: "Brightness", exact: true }),
      page.getByRole("radiogroup", { name: "Screen" }),
    ]) {
      expect(await reason(knob)).toBe("Your token cannot change this.");
    }
    await page.getByRole("link", { name: "Request a change" }).click();
    await page.getByRole("slider", { name: "volume", exact: true }).and(page.locator(":focus")).waitFor();
    await device.stop();
    await page.getByText("Disconnected. Showing what the device reported last.").waitFor();
    expect(await reason(page.getByRole("button", { name: "Louder", exact: true }))).toBe(
      "The device is offline.",
    );
    expect(await reason(page.getByRole("button", { name: "Take photo", exact: true }))).toBe(
      "The device is offline.",
    );
    const item = toolRow(page, "self.audio_speaker.set_volume");
    expect(await reason(item.getByRole("button", { name: "Run", exact: true }))).toBe(
      "The device is offline.",
    );
    complaints.check();
  });

  it("[CAM-4] offers no screenshots without the right to use user-only tools", async () => {
    const { page, complaints } = shared;
    await openBoard(shared, "shown");
    await page.getByRole("button", { name: "Take photo", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Take screenshot", exact: true }).count()).toBe(0);
    complaints.check();
  });
});
