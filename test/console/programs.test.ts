/** Devices that are not boards: how a person adds them, and what the pages show of them. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { HttpServer, McpPipe } from "@tendon/simulator";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { bringInspector, seriousFindings } from "./accessibility.ts";
import { homeProgram, untilOnline } from "./console-site.ts";
import { headings } from "./page-headings.ts";
import { sharedConsole } from "./shared-console.ts";

describe("devices that are not boards", () => {
  let server: HttpServer;
  const shared = sharedConsole({
    site: async (started) => {
      server = await HttpServer.start();
      started.atEnd(() => server.stop());
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-programs-"));
      started.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
      return {
        config: {
          endpoint: { enabled: true },
          devices: { http: [{ alias: "configured", url: server.url }] },
        },
        processes: [homeProgram(folder)],
      };
    },
  });

  /** The value beside a name in the panel of the connection. */
  const fact = (name: string) =>
    shared.page
      .locator("dl > div")
      .filter({ has: shared.page.getByText(name, { exact: true }) })
      .locator("dd");

  it("are added as programs that connect: an address, shown once, and the wait for the program", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/voice-agents");
    await page.getByRole("link", { name: "Add a tool provider" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a device" });
    const name = dialog.getByLabel("Name of the token");
    expect(await name.inputValue()).toBe("tools");
    await name.fill("weather");
    await page.keyboard.press("Enter");
    const made = dialog.getByRole("region", { name: "Address of the MCP endpoint" });
    await made.getByText("it contains the token and is not shown again").waitFor();
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Address of the MCP endpoint");
    await bringInspector(page);
    expect(await seriousFindings(page, "all")).toEqual([]);
    const shown = made.getByRole("figure", { name: "Address of the MCP endpoint" });
    const address = (await shown.textContent()) ?? "";
    expect(address).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/mcp_endpoint\/mcp\/\?token=tdn_[\w-]+$/);
    const command = made.getByRole("figure", { name: "Command" });
    expect(await command.textContent()).toContain(`export MCP_ENDPOINT="${address}"\npython mcp_pipe.py`);
    await made.getByRole("tab", { name: "Linux, macOS" }).focus();
    await page.keyboard.press("ArrowRight");
    await made.getByText("$env:MCP_ENDPOINT").waitFor();
    await made.getByRole("status").filter({ hasText: "Waiting for the program…" }).waitFor();
    const { tokens } = (await site.rest("GET", "/tokens")).body as {
      tokens: { name: string; scopes: string[] }[];
    };
    expect(tokens.find((token) => token.name === "weather")?.scopes.sort()).toEqual([
      "call",
      "endpoint",
      "read",
    ]);

    const pipe = new McpPipe({ url: address, name: "Weather Station", faults: ["noise"] });
    pipe.start();
    await made.getByRole("status").filter({ hasText: "Connected: weather-station" }).waitFor();
    await made.getByRole("link", { name: "weather-station" }).click();
    await page.getByRole("heading", { name: "weather-station" }).waitFor();
    await fact("Token").getByText("weather", { exact: true }).waitFor();
    expect(await fact("MCP server").textContent()).toBe("Weather Station 1.0.0");
    expect(await fact("MCP version").textContent()).toBe("2025-11-25");
    expect(await fact("Ignored frames").textContent()).toMatch(/^[1-9]\d* frames/);
    expect(await seriousFindings(page, "all")).toEqual([]);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByText("To keep it out, revoke its token.").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();

    await page.goto(`${site.url}/?add=provider`);
    await dialog.getByLabel("Name of the token").waitFor();
    expect(await page.content()).not.toContain(address);
    await dialog.getByLabel("Name of the token").fill("weather");
    await page.keyboard.press("Enter");
    complaints.expectRefusal(409);
    await dialog.getByRole("alert").waitFor();
    complaints.check();
    pipe.stop();
  });

  it.each(["en", "zh", "es", "vi"] as const)("fit a phone while one is added, in %s", async (language) => {
    const { page, complaints } = shared;
    await page.setViewportSize({ width: 360, height: 740 });
    await page.evaluate(`localStorage.setItem("tendon.language", "${language}")`);
    await shared.load("/");
    await page.getByRole("heading", { name: headings[language][0], exact: true }).waitFor();
    await shared.go("/?add=provider");
    const dialog = page.getByRole("dialog");
    await dialog.locator("button[type=submit]").click();
    await dialog.getByRole("region").getByRole("status").last().waitFor();
    const tooWide = `[...document.querySelectorAll("[role=dialog], [role=dialog] > div")].filter(
      ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`;
    expect(await page.evaluate(tooWide)).toBe(0);
    complaints.check();
    await page.evaluate("localStorage.clear()");
    await shared.load("/");
  });

  it("have their own icons and names in the list", async () => {
    const { site, page, complaints } = shared;
    await untilOnline(site, "home", true);
    await untilOnline(site, "configured", true);
    await shared.load("/");
    const row = (alias: string) => page.getByRole("link", { name: new RegExp(`${alias} `) });
    await row("configured").getByTitle("MCP server").locator("visible=true").waitFor();
    await row("configured").getByText("simulated-sessions").waitFor();
    // Programs are not asked for the status of a board.
    expect(await page.getByRole("button", { name: "Refresh status" }).count()).toBe(0);
    await shared.startBoard("beside-programs");
    await page.getByRole("button", { name: "Refresh status" }).click();
    await until(async () => {
      const { calls } = (await site.rest("GET", "/calls")).body as { calls: { device: string }[] };
      return calls.length > 0 && calls.every(({ device }) => device.startsWith("02:"));
    }, "the call to the board alone");
    await row("home").getByTitle("Program").locator("visible=true").waitFor();
    complaints.check();
  });

  it("show the server's address, versions and source, and nothing of a board", async () => {
    const { site, page, complaints } = shared;
    await untilOnline(site, "configured", true);
    await shared.go("/devices/configured");
    await fact("MCP server").getByText("simulated-sessions 1.0.0").waitFor();
    expect(await fact("Address").textContent()).toBe(new URL(server.url).origin);
    expect(await fact("MCP version").textContent()).toBe("2025-11-25");
    expect(await fact("Source").textContent()).toBe("tendon.yaml");
    expect(await fact("Kind").textContent()).toBe("MCP server");
    await page.getByText(/^Online, since/).waitFor();
    for (const text of ["Board", "Firmware", "Status", "User-only tools"])
      expect(await page.getByRole("main").getByText(text, { exact: true }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "More" }).count()).toBe(0);

    await untilOnline(site, "home", true);
    await shared.go("/devices/home");
    expect(await fact("Source").textContent()).toBe("tendon.yaml");
    expect(await fact("Kind").textContent()).toBe("Program");

    const gone = await HttpServer.start();
    const { url } = gone;
    await gone.stop();
    await shared.go("/?add=server");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Alias").fill("gone");
    await dialog.getByLabel("Address").fill(url);
    await page.keyboard.press("Enter");
    await dialog.getByText("Added. Waiting for the server…").waitFor();
    await dialog.getByText("the server cannot be reached").waitFor();
    await shared.go("/devices/gone");
    await fact("Problem").getByText("the server cannot be reached").waitFor();
    expect(await fact("Source").textContent()).toBe("Added by an administrator");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(({ pathname }) => pathname === "/");
    expect((await site.rest("GET", "/devices/gone")).status).toBe(404);
    complaints.check();
  });
});
