/** Approvals, the home, the overview, connecting an agent, and navigation. */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { openConsole } from "./browser.ts";
import { desk, homeProgram, openConsoleSite, startBoard, untilOnline } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const rules = [{ tool: "self.audio_speaker.*", effect: "confirm" as const, principal: "agent" }];
const shared = sharedConsole({ site: { config: { access: { rules } } } });

describe("approvals", () => {
  it("show the caller and the exact call, and the agent gets its answer at once", async () => {
    const { site, page, complaints } = shared;
    const device = await shared.startBoard("lamp");
    const made = await site.rest("POST", "/tokens", { name: "agent", scopes: ["read", "call"] });
    const as = { authorization: `Bearer ${String(made.body["token"])}` };
    const ask = (volume: number) =>
      site.rest(
        "POST",
        `/devices/${device.id}/tools/self.audio_speaker.set_volume/call`,
        { arguments: { volume } },
        as,
      );
    await shared.go("/approvals");
    await page.getByText("No pending approvals").waitFor();
    expect((await ask(33)).body["code"]).toBe("approval_required");
    await page.getByText("agent requests Set volume on lamp").waitFor();
    await page.getByText("volume:").waitFor();
    await page.getByText("1 pending approval").first().waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("No pending approvals").waitFor();
    expect((await ask(33)).status).toBe(200);
    expect(device.state.get("volume")).toBe(33);
    await page.getByText("Used").waitFor();
    await ask(44);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("Denied").waitFor();
    complaints.check();
  });
});

describe("an approval that the user cannot decide", () => {
  it("explains why beside the disabled buttons", async () => {
    const site = await openConsoleSite({ config: { access: { rules } } });
    await startBoard(site, desk, "desk");
    const made = await site.rest("POST", "/tokens", { name: "agent", scopes: ["read", "call", "call:user"] });
    const as = { authorization: `Bearer ${String(made.body["token"])}` };
    const at = `/devices/${desk}/tools/self.audio_speaker.set_volume/call`;
    await site.rest("POST", at, { arguments: { volume: 33 } }, as);
    const code = await site.rest("POST", "/session/codes", undefined, as);
    const { page, complaints } = await openConsole(site, "/approvals", {}, String(code.body["url"]));
    for (const name of ["Approve", "Deny"]) {
      const button = page.getByRole("button", { name, exact: true });
      await button.waitFor();
      expect(await button.isDisabled()).toBe(true);
      const id = (await button.getAttribute("aria-describedby")) ?? "";
      expect(await page.locator(`[id="${id}"]`).textContent()).toBe(
        "You made this request. Another person has to decide.",
      );
    }
    complaints.check();
  });
});

describe("the home", () => {
  const home = sharedConsole({
    site: async (group) => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-home-"));
      group.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
      const data = path.join(folder, "home");
      fs.mkdirSync(data);
      fs.writeFileSync(path.join(data, "home.yaml"), "tools: gate.yaml");
      fs.writeFileSync(
        path.join(data, "gate.yaml"),
        "state: { gate: closed, gate_locked: false }\ntools: [{ name: open_gate, returns: { set: gate, to: wide open } }]",
      );
      return { processes: [homeProgram(folder)] };
    },
  });

  it("is a floor plan whose rooms are switched by a click or a key", async () => {
    const { site, page, complaints } = home;
    await untilOnline(site, "home", true);
    await home.go("/home");
    const room = page.getByRole("switch", { name: "Light: Living room" });
    await room.click();
    const states = async () =>
      (await site.call("home", "get_all_states")).body["result"] as {
        structuredContent: { lights: Record<string, boolean>; alarm: boolean };
      };
    await until(
      async () => (await states()).structuredContent.lights["salon"] === true,
      "the light of the salon",
    );
    expect(await room.getAttribute("aria-checked")).toBe("true");
    await page.getByText("1 of 5 on").waitFor();
    await room.press("Enter");
    await page.getByText("0 of 5 on").waitFor();
    await page.getByRole("switch", { name: "Alarm" }).click();
    await page.getByText("Alarm armed").waitFor();
    // Another client switches the light; the plan follows.
    await site.call("home", "set_light_state", { name: "cocina", on: true });
    await page.getByRole("switch", { name: "Light: Kitchen", checked: true }).waitFor();
    complaints.check();
  });

  it("shows the state of a tools file, and follows it", async () => {
    const { site, page, complaints } = home;
    await untilOnline(site, "home", true);
    await home.go("/home");
    const side = page.getByRole("region", { name: "Whole home" });
    await side.getByText("closed", { exact: true }).waitFor();
    await side.getByText("gate_locked").waitFor();
    await site.call("home", "open_gate");
    await side.getByText("wide open").waitFor();
    complaints.check();
  });
});

describe("without a home", () => {
  it("its page explains how to get one", async () => {
    await shared.go("/home");
    await shared.page.getByText(/tendon serve --demo/).waitFor();
  });
});

describe("the overview", () => {
  it("shows statistics and charts", async () => {
    const site = await openConsoleSite();
    await startBoard(site, desk, "desk");
    for (const volume of [10, 20, 300]) await site.call(desk, "self.audio_speaker.set_volume", { volume });
    const { page, complaints } = await openConsole(site, "/overview");
    await page.getByText("Invalid arguments").waitFor();
    await page.getByText("self.audio_speaker.set_volume").waitFor();
    await page.getByRole("figure", { name: /Calls per second/ }).waitFor();
    expect(await page.locator("canvas").count()).toBe(3);
    await page.getByLabel("Time range").selectOption("24h");
    await page.getByText("33.3 %").waitFor();
    complaints.check();
  });
});

describe("connecting an agent", () => {
  it("creates a token, fills the snippets, and shows when the agent connects", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/connect");
    await page.getByLabel("Name of the token").fill("claude");
    await page.getByRole("button", { name: "Create token" }).click();
    const token = (await page.getByRole("figure", { name: "Token" }).textContent()) ?? "";
    expect(token).toMatch(/^tdn_/);
    await page.getByText("Waiting for claude").waitFor();
    for (const name of ["Claude Desktop", "Cursor", "VS Code", "curl", "Node", "Claude Code"]) {
      await page.getByRole("tab", { name }).click();
      await page.getByRole("figure", { name }).getByText(token.trim()).waitFor();
    }
    const client = new Client({ name: "claude", version: "1.0.0" });
    const headers = { Authorization: `Bearer ${token.trim()}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${site.url}/mcp`), { requestInit: { headers } }),
    );
    onTestFinished(() => client.close());
    await page.getByText("Connected.").waitFor();
    complaints.check();
  });

  it("suggests a name that no token has, and says when one is taken", async () => {
    const { page, complaints } = shared;
    await shared.go("/connect");
    const name = page.getByLabel("Name of the token");
    expect(await name.inputValue()).toBe("my-agent");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText("Waiting for my-agent").waitFor();
    await until(async () => (await name.inputValue()) === "my-agent-2", "another name");
    await name.fill("my-agent");
    await page.getByRole("button", { name: "Create another" }).click();
    await page.getByText("a token named `my-agent` exists already", { exact: false }).waitFor();
    complaints.expectRefusal(409);
    complaints.check();
  });
});

describe("navigation", () => {
  it("opens any device or page by a few letters", async () => {
    const { page, complaints } = shared;
    await shared.startBoard("desk");
    await shared.go("/");
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Go to" }).fill("des");
    await page.getByRole("option", { name: /desk/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "desk" }).waitFor();
    await page.getByText("self.audio_speaker.set_volume").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    // A tool of a device that was opened before, opened in place.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("set_vol desk");
    await page.getByRole("option", { name: /^desk › Set volume/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("slider", { name: "volume", exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("overv");
    await page.getByRole("option", { name: /Overview/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await shared.go("/calls/unknown");
    await page.getByText("Not found").waitFor();
    complaints.expectRefusal(404);
    complaints.check();
  });

  it("shows when it is not live, catches up, and notices a sign-out", async () => {
    const site = await openConsoleSite();
    const device = await startBoard(site, desk, "desk", { autoReconnect: false });
    const { page, context } = await openConsole(site);
    await page.getByText("1 online").waitFor();
    await context.setOffline(true);
    await page.getByText("Connection lost, reconnecting.").waitFor();
    await page.getByRole("img", { name: "Last known" }).waitFor();
    await device.stop();
    await untilOnline(site, desk, false);
    await context.setOffline(false);
    await page.getByText("0 online · 1 offline").waitFor();
    expect(await page.getByText("Connection lost").count()).toBe(0);
    await site.tendon.stop();
    await page.getByText("Connection lost, reconnecting.").waitFor();
  });

  it("returns to the sign-in page when its token is revoked", async () => {
    const site = await openConsoleSite();
    const made = await site.rest("POST", "/tokens", { name: "guest", scopes: ["read"] });
    const as = { authorization: `Bearer ${String(made.body["token"])}` };
    const code = await site.rest("POST", "/session/codes", undefined, as);
    const { page } = await openConsole(site, "/", {}, String(code.body["url"]));
    await page.getByText("No devices yet").waitFor();
    await site.rest("DELETE", `/tokens/${String(made.body["id"])}`);
    await page.getByLabel("Token or code").waitFor();
  });
});
