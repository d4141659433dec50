/** Conversations in the console: a board talks to a scripted voice server while the page is open. */
import { VirtualDevice } from "@tendon/simulator";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Site } from "../site.ts";
import { openUpstream, type Upstream } from "../voice/voice-site.ts";
import { openConsole } from "./browser.ts";
import { desk, kitchen, openConsoleSite, startBoard } from "./console-site.ts";

const sentence = "a private sentence";

async function openVoiceSite(): Promise<{ site: Site; upstream: Upstream; host: string }> {
  // The voice server answers when the test tells it to.
  const script = { sentences: [sentence], recognizedText: sentence, questionPackets: 1_000 };
  const upstream = await openUpstream({ script });
  const { url } = upstream.server;
  const site = await openConsoleSite({ config: { voice: { udpPort: 0, upstream: [{ url }] } } });
  return { site, upstream, host: new URL(url).host };
}

async function as(site: Site, scopes: string[]): Promise<string> {
  const { body } = await site.rest("POST", "/tokens", { name: "reader", scopes });
  const headers = { authorization: `Bearer ${String(body["token"])}` };
  return String((await site.rest("POST", "/session/codes", undefined, headers)).body["url"]);
}

const places = (page: Page) => page.getByRole("navigation").first();

describe("the voice page", () => {
  it("shows an active conversation with its statistics, and none of its content", {
    timeout: 30_000,
  }, async () => {
    const { site, upstream, host } = await openVoiceSite();
    const board = await startBoard(site, kitchen, "kitchen");
    const { page, complaints } = await openConsole(site, "/voice");
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    await board.openAudio();
    const connection = await upstream.connections.take();
    await page.getByText("1 active conversation").waitFor();
    const talk = page.getByRole("listitem").filter({ hasText: "kitchen" });
    await talk.getByText(host).waitFor();
    await talk.getByText("Listening").waitFor();
    await talk.getByText("0 packets").first().waitFor();
    await board.speak();
    await talk.getByText("20 packets").waitFor();
    connection.say({ type: "tts", state: "start" });
    await talk.getByText("Speaking").waitFor();
    await connection.answer();
    await talk.getByText("20 packets").nth(1).waitFor();
    expect(await talk.getByText("0 % lost").count()).toBe(2);
    expect(await talk.getByText(/^jitter [\d.]+ ms$/).count()).toBe(2);
    await talk.getByText(/^0:\d\d$/).waitFor();
    expect(await page.locator("body").textContent()).not.toContain(sentence);
    connection.close();
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    complaints.check();
  });

  it("appears on the device page too, while the conversation lasts", { timeout: 30_000 }, async () => {
    const { site, host } = await openVoiceSite();
    const board = await startBoard(site, kitchen, "kitchen");
    const { page, complaints } = await openConsole(site, `/devices/${kitchen}`);
    const panel = page.locator("section").filter({ has: page.getByRole("heading", { name: "Voice" }) });
    await page.getByText("Agent tools").waitFor();
    expect(await panel.count()).toBe(0);
    await board.openAudio();
    await panel.getByText("Listening").waitFor();
    await panel.getByText(host).waitFor();
    await board.speak({ paceMs: 0 });
    await panel.getByText("20 packets").waitFor();
    await board.closeAudio();
    await panel.waitFor({ state: "detached" });
    complaints.check();
  });

  it("shows a new board at once when it starts with a conversation", async () => {
    const upstream = await openUpstream();
    const voice = { udpPort: 0, upstream: [{ url: upstream.server.url }] };
    const site = await openConsoleSite({ config: { voice, devices: { admission: "open" } } });
    const { page, complaints } = await openConsole(site, "/voice");
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    const url = `${site.url.replace("http", "ws")}/xiaozhi/v1/`;
    const board = new VirtualDevice({ url, board: { mac: desk } });
    onTestFinished(() => board.stop());
    await board.connect();
    await page.getByText("1 active conversation").waitFor();
    complaints.check();
  });

  it("marks old statistics as not live", { timeout: 30_000 }, async () => {
    const { site } = await openVoiceSite();
    const board = await startBoard(site, kitchen, "kitchen");
    await board.openAudio();
    const { page, context } = await openConsole(site, "/voice");
    await page.getByText("1 active conversation").waitFor();
    await context.setOffline(true);
    const talk = page.getByRole("listitem").filter({ hasText: "kitchen" });
    await talk.getByText("Last known").waitFor();
    await page.getByText("Disconnected. Showing the last known state.").waitFor();
    expect(await talk.getByText(/^0:\d\d$/).count()).toBe(0);
    await board.closeAudio();
    await context.setOffline(false);
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
  });

  it("requires the scope read, and explains how to set up a voice server when there is none", async () => {
    const { site } = await openVoiceSite();
    const reader = await openConsole(site, "/", {}, await as(site, ["read"]));
    await places(reader.page).getByRole("link", { name: "Voice" }).click();
    await reader.page.getByRole("heading", { name: "No active conversations" }).waitFor();
    const caller = await openConsole(site, "/voice", {}, await as(site, ["call"]));
    await caller.page.getByText("Your token cannot view devices. It needs the scope read.").waitFor();
    expect(await places(caller.page).getByRole("link", { name: "Voice" }).count()).toBe(0);

    const plain = await openConsoleSite();
    const other = await openConsole(plain, "/", {}, await as(plain, ["read"]));
    await places(other.page).getByRole("link", { name: "Overview" }).waitFor();
    expect(await places(other.page).getByRole("link", { name: "Voice" }).count()).toBe(0);
    const { page, complaints } = await openConsole(plain);
    await places(page).getByRole("link", { name: "Voice" }).click();
    await page.getByRole("heading", { name: "No voice server yet" }).waitFor();
    await page.getByText("upstream: ws://").waitFor();
    await page.getByRole("link", { name: "Read the guide" }).click();
    await page.getByRole("heading", { name: "In front of a self-hosted xiaozhi server" }).waitFor();
    complaints.check();
  });
});
