import { HttpServer } from "@tendon/simulator";
import { beforeEach, describe, expect, it } from "vitest";
import { Inbox, until } from "../inbox.ts";
import type { Site } from "../site.ts";
import { openConsole } from "./browser.ts";
import { clientIdOf, desk, kitchen, linkFor, openConsoleSite, startBoard } from "./console-site.ts";
import { type SharedConsole, sharedConsole } from "./shared-console.ts";

/** Loads the page, because it keeps its filters and the devices that it knows. */
async function openFleet(shared: SharedConsole): Promise<SharedConsole> {
  await shared.load("/");
  return shared;
}

async function deleteDevices(site: Site): Promise<void> {
  const { body } = await site.rest("GET", "/devices");
  for (const { id } of body["devices"] as { id: string }[]) await site.rest("DELETE", `/devices/${id}`);
}

describe("the fleet page", () => {
  let startDemoDevice: () => Promise<string>;
  const shared = sharedConsole({ site: { startDemoDevice: () => startDemoDevice() } });
  beforeEach(async () => {
    // The page would ask for devices that it knows.
    await shared.unload();
    await deleteDevices(shared.site);
  });

  it("shows each device with its status, live, and finds it by search and filter", async () => {
    const { site } = shared;
    const first = await startBoard(site, desk, "desk", {
      board: { name: "esp-box-3", battery: { level: 82, charging: true } },
    });
    await startBoard(site, kitchen, "kitchen", { board: { name: "m5stack-core-s3" } });
    await site.rest("PATCH", `/devices/${kitchen}`, { tags: ["cooking"] });
    const { page, complaints } = await openFleet(shared);
    const row = (name: string) => page.getByRole("link", { name: new RegExp(name) });
    await row("desk").waitFor();
    await page.getByText("2 online · 0 offline").waitFor();
    for (const word of ["esp-box-3", "2.4.2", "websocket", "Online"])
      expect(await row("desk").textContent()).toContain(word);
    expect(await row("kitchen").textContent()).toMatch(/cooking[\s\S]*mqtt/);
    await page.getByRole("button", { name: "Refresh status" }).click();
    await row("desk").getByText("82 %").waitFor();

    await page.keyboard.press("/");
    await page.keyboard.type("m5stack");
    await row("desk").waitFor({ state: "detached" });
    expect(await row("kitchen").count()).toBe(1);
    await page.keyboard.press("Escape");
    await row("desk").waitFor();

    await first.stop();
    await page.getByText("1 online · 1 offline").waitFor();
    await page.getByLabel("Presence").selectOption("offline");
    await row("kitchen").waitFor({ state: "detached" });
    expect(await row("desk").count()).toBe(1);
    await page.getByLabel("Presence").selectOption("all");
    await page.getByLabel("Tag").selectOption("cooking");
    await row("desk").waitFor({ state: "detached" });
    complaints.check();
  });

  it("announces a new device without moving the rows", async () => {
    const { site } = shared;
    await startBoard(site, kitchen, "kitchen");
    const { page } = await openFleet(shared);
    await page.getByRole("link", { name: /kitchen/ }).waitFor();
    await startBoard(site, desk, "desk");
    await page.getByRole("button", { name: "Show 1 new device" }).click();
    // The row may have been read before the alias was set, which no event announces.
    const added = /^(desk|esp-box-3)/;
    const names = page.getByRole("list", { name: "Fleet" }).getByRole("link");
    await names.filter({ hasText: added }).waitFor();
    expect(await names.allTextContents()).toEqual([
      expect.stringMatching(added),
      expect.stringMatching(/^kitchen/),
    ]);
  });

  it("sorts names naturally and ids as text", async () => {
    const { site } = shared;
    const ends = ["20", "1f", "10", "0a", "0b", "0c", "0d"];
    for (const end of ends) {
      const deviceId = `02:00:00:00:00:${end}`;
      const clientId = clientIdOf(deviceId);
      const { token } = site.tendon.provision(deviceId, clientId).websocket;
      await site.join({ deviceId, clientId, token });
    }
    const name = (end: string, alias: string) =>
      site.rest("PATCH", `/devices/02:00:00:00:00:${end}`, { alias });
    await name("0b", "lamp-10");
    await name("0c", "lamp-2");
    await name("0d", "door");
    const { page, complaints } = await openFleet(shared);
    await page.getByText(`${ends.length} online`).waitFor();
    const rows = page.getByRole("list", { name: "Fleet" }).getByRole("link");
    const shown = async () =>
      (await rows.allTextContents()).map((text) => /^(door|lamp-\d\d?|raw-board-....)/.exec(text)?.[0]);
    const byName = [
      "door",
      "lamp-2",
      "lamp-10",
      ...["000a", "0010", "001f", "0020"].map((end) => `raw-board-${end}`),
    ];
    await until(async () => (await shown()).join() === byName.join(), byName.join());
    const column = (title: string) => page.getByRole("button", { name: new RegExp(`^${title}`) });
    await column("Board").click();
    await until(async () => (await shown()).join() === byName.join(), "one board, so by name");
    await column("Name").click();
    await column("Name").click();
    await until(
      async () => (await shown()).join() === [...byName].reverse().join(),
      "the other direction at the second click",
    );
    await page.getByRole("button", { name: "Name descending" }).waitFor();
    complaints.check();
  });

  it("does not come back when the user leaves at once after a change, while the next page is loading", async () => {
    const { site } = shared;
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openConsole(site);
    await page.getByRole("list", { name: "Fleet" }).getByRole("link", { name: /desk/ }).waitFor();
    await page.clock.install();
    const held = new Inbox<() => void>("request for the next page");
    await page.route(/assets\/device-/, (route) => held.put(() => void route.continue()));
    await page.evaluate(`(async () => {
      document.querySelector('button[aria-pressed="false"]').click();
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      document.querySelector('[data-at="0"]').click();
    })()`);
    await page.waitForURL(`${site.url}/devices/${desk}`);
    // Longer than the fleet page waits before it writes the address.
    await page.clock.runFor(1_000);
    (await held.take())();
    await page.getByRole("heading", { name: "desk" }).waitFor();
    complaints.check();
  });

  it("has its filters and order in the address, so that a link shows the same", async () => {
    const { site } = shared;
    await startBoard(site, desk, "desk");
    await startBoard(site, kitchen, "kitchen");
    await site.rest("PATCH", `/devices/${kitchen}`, { tags: ["cook & eat".replaceAll(/[^a-z]/g, "-")] });
    const { page, complaints } = await openFleet(shared);
    const rows = page.getByRole("list", { name: "Fleet" }).getByRole("link");
    await page.getByText("2 online").waitFor();
    await page.getByLabel("Search devices").fill("00:00 ");
    await page.getByLabel("Presence").selectOption("online");
    await page.getByLabel("Tag").selectOption("cook---eat");
    await page.getByRole("button", { name: /^Last seen/ }).click();
    await page.waitForURL((url) => url.search === "?q=00%3A00&online=true&tag=cook---eat&sort=-lastSeen");
    expect(await page.getByLabel("Search devices").inputValue()).toBe("00:00 ");
    const link = page.url();
    await shared.unload();
    await page.goto(link);
    await rows.filter({ hasText: "kitchen" }).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await page.getByLabel("Search devices").inputValue()).toBe("00:00");
    await page.getByRole("button", { name: "Last seen descending" }).waitFor();
    // The menu's entry shows all devices again.
    await page.getByRole("navigation").getByRole("link", { name: "Fleet" }).first().click();
    await rows.filter({ hasText: "desk" }).waitFor();
    complaints.check();
  });

  it("fits its columns into every width", async () => {
    const { site } = shared;
    await startBoard(site, desk, "a-name-of-24-characters-", {
      board: { battery: { level: 100, charging: true } },
    });
    await site.call(desk, "self.get_device_status");
    const { page } = await openConsole(site, "/", { locale: "es" });
    for (const width of [360, 768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const row = page.getByRole("list", { name: "Flota" }).getByRole("listitem").first();
      await row.getByText("100 %").waitFor();
      const script = `[...document.querySelectorAll("main ul li a, main ul li a > *, main button[aria-pressed]")]
        .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > document.querySelector("main ul").getBoundingClientRect().right + 1)
        .map((each) => each.innerText)`;
      expect(await page.evaluate(script), `at ${width} px`).toEqual([]);
    }
  });

  it("keeps the height of its rows in the browser", async () => {
    const { site } = shared;
    await startBoard(site, desk, "desk");
    const { page } = await openFleet(shared);
    const row = page.getByRole("list", { name: "Fleet" }).getByRole("listitem").first();
    await row.waitFor();
    expect((await row.boundingBox())?.height).toBe(60);
    await page.getByRole("radio", { name: "Compact" }).check();
    await until(async () => (await row.boundingBox())?.height === 38, "a compact row");
    await page.reload();
    await row.waitFor();
    expect((await row.boundingBox())?.height).toBe(38);
  });

  it("tags, calls and revokes the selected devices, with a result for each", async () => {
    const { site } = shared;
    const first = await startBoard(site, desk, "desk");
    const second = await startBoard(site, kitchen, "kitchen", { autoReconnect: false });
    const { page, complaints } = await openFleet(shared);
    await page.getByText("2 online").waitFor();
    await page.getByLabel("Select desk").check();
    await page.getByText("1 selected").waitFor();
    await page.getByRole("button", { name: "Select all 2" }).click();
    await page.getByText("2 selected").waitFor();
    const dialog = page.getByRole("dialog");

    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await dialog.getByLabel("Add tags").fill("upstairs, quiet");
    await dialog.getByRole("button", { name: "Save for 2 devices" }).click();
    await dialog.getByText("2 done").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    for (const id of [desk, kitchen])
      expect(await site.device(id)).toMatchObject({ tags: ["upstairs", "quiet"] });

    await second.stop();
    await page.getByText("1 online · 1 offline").waitFor();
    await page.getByRole("button", { name: "Run a tool" }).click();
    await dialog.getByLabel("Tool", { exact: true }).selectOption("self.audio_speaker.set_volume");
    await dialog.getByRole("spinbutton", { name: /^volume/ }).fill("35");
    await dialog.getByRole("button", { name: "Run on 2 devices" }).click();
    // The confirmation repeats the number, the names and the values.
    await dialog.getByText(/^Run this tool on 2 devices:/).waitFor();
    await dialog.getByText("desk, kitchen").waitFor();
    expect(first.state.get("volume")).toBe(70);
    await dialog.getByRole("button", { name: "Run on 2 devices" }).click();
    await dialog.getByText("1 done · 1 failed").waitFor();
    const results = dialog.getByRole("list", { name: "Results" }).getByRole("listitem");
    expect(await results.allTextContents()).toEqual([
      expect.stringMatching(/^kitchen.*offline/i),
      expect.stringMatching(/^desktrue/),
    ]);
    expect(first.state.get("volume")).toBe(35);
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await dialog.getByText("Revoke 2 devices?").waitFor();
    await dialog.getByRole("button", { name: "Revoke 2 devices" }).click();
    await dialog.getByText("2 done").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    for (const id of [desk, kitchen]) expect(await site.device(id)).toMatchObject({ approval: "revoked" });
    await page.getByRole("button", { name: "Clear selection" }).click();
    await page.getByText("2 selected").waitFor({ state: "detached" });
    complaints.check();
  });

  it("shows how to add each kind of device, at any time and by a link", async () => {
    const { site } = shared;
    startDemoDevice = async () => desk;
    await startBoard(site, desk, "desk");
    const { page, complaints } = await openFleet(shared);
    await page.getByRole("button", { name: "Add a device" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${site.url}/xiaozhi/ota/`).waitFor();
    await dialog.getByText("Boards cannot reach this address").waitFor();
    await dialog.getByRole("img", { name: "QR code of the OTA address" }).waitFor();
    await dialog.getByRole("radio", { name: "Program" }).check();
    await dialog.getByText("tendon.yaml and restart the gateway").waitFor();
    const server = await HttpServer.start();
    await dialog.getByRole("radio", { name: "MCP server" }).check();
    await dialog.getByLabel("Alias").fill("lamp");
    await dialog.getByLabel("Address").fill(server.url);
    await dialog.getByRole("button", { name: "Add server" }).click();
    await dialog.getByRole("status").filter({ hasText: "Online: lamp" }).waitFor();
    await dialog.getByRole("radio", { name: "Virtual device" }).check();
    await dialog.getByText(/comes back after a restart/).waitFor();
    await page.waitForURL((url) => url.search === "?add=virtual");
    await page.reload();
    await dialog.getByRole("button", { name: "Start a virtual device" }).click();
    await dialog.getByText("Started. It is in the list now.").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForURL((url) => url.search === "");
    await page.getByText("simulated-sessions").first().waitFor();
    complaints.check();
    await shared.unload();
    expect((await site.rest("DELETE", "/devices/lamp")).status).toBe(204);
    await server.stop();
  });

  it("explains what to do when it is empty, and starts a virtual device", async () => {
    const { site } = shared;
    startDemoDevice = async () => {
      await startBoard(site, desk, "desk");
      return desk;
    };
    const { page, complaints } = await openFleet(shared);
    await page.getByText("No devices yet").waitFor();
    await page.getByRole("img", { name: "QR code of the OTA address" }).waitFor();
    await page.getByText(`${site.url}/xiaozhi/ota/`).waitFor();
    const warning = page.getByRole("status").filter({ hasText: "Boards cannot reach this address" });
    await warning.getByText(/^Only this machine can reach 127\.0\.0\.1: .* --host 0\.0\.0\.0/).waitFor();
    await page.getByRole("radio", { name: "Virtual device" }).check();
    await page.getByRole("button", { name: "Start a virtual device" }).click();
    await page.getByRole("link", { name: /desk/ }).waitFor();
    complaints.check();
  });

  const otaAddresses = [
    ["en", "http://192.0.2.7:8000", undefined],
    ["zh", "http://localhost:8000", "只有本机能访问 localhost：.*http\\.publicUrl"],
    ["es", "http://[fd00::1]:8000", "El firmware no puede interpretar esta dirección\\."],
  ] as const;
  it.each(otaAddresses)(
    "explains in %s whether boards can use the address %s",
    async (locale, publicUrl, expected) => {
      const site = await openConsoleSite({ config: { http: { publicUrl } } });
      const { page } = await openConsole(
        site,
        "/",
        { locale },
        site.tendon.consoleLink().replace(publicUrl, site.url),
      );
      await page.getByText(`${publicUrl}/xiaozhi/ota/`).waitFor();
      const warning = page
        .getByRole("main")
        .getByRole("status")
        .getByText(/publicUrl/);
      expect(await warning.count()).toBe(expected === undefined ? 0 : 1);
      if (expected !== undefined) expect(await warning.textContent()).toMatch(new RegExp(`^${expected}`));
    },
  );

  it("approves a board by the code it shows", async () => {
    const { site } = shared;
    const answer = await fetch(`${site.url}/xiaozhi/ota/`, {
      method: "POST",
      headers: {
        "Device-Id": desk,
        "Client-Id": "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01",
        "content-type": "application/json",
      },
      body: JSON.stringify({ board: { type: "esp-box-3" }, application: { version: "2.4.2" } }),
    });
    const { activation } = (await answer.json()) as { activation: { code: string } };
    const { page, complaints } = await openFleet(shared);
    await page.getByRole("button", { name: /^1 device is waiting for approval/ }).click();
    await page.getByLabel("Code on the board").fill(activation.code);
    await page.getByRole("button", { name: "Approve by code" }).click();
    await page.getByText("1 device is waiting for approval").waitFor({ state: "detached" });
    expect((await site.rest("GET", "/devices/pending")).body["total"]).toBe(0);
    complaints.check();
  });

  it("offers only the actions that the token allows", async () => {
    const { site } = shared;
    await startBoard(site, desk, "desk");
    const link = await linkFor(site, "viewer", ["read"]);
    const { page, complaints } = await openConsole(site, "/", {}, link);
    await page.getByRole("link", { name: /desk/ }).click();
    await page.getByRole("heading", { name: "User-only tools" }).waitFor();
    for (const name of ["Rename and tag", "Refresh status", "Take photo", "Louder"]) {
      expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0);
    }
    expect(await page.getByRole("button", { name: "Run", exact: true }).first().isDisabled()).toBe(true);
    expect(await page.getByRole("tab", { name: "Frames" }).count()).toBe(0);
    complaints.check();
  });
});
