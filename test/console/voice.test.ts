/** Conversations in the console: a board talks to a scripted voice server while the page is open. */
import { type BoardConnection, VirtualDevice } from "@tendon/simulator";
import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { openUpstream, type Upstream } from "../voice/voice-site.ts";
import { changeUser, openConsole } from "./browser.ts";
import { linkFor, openConsoleSite } from "./console-site.ts";
import { sharedConsole } from "./shared-console.ts";

const sentence = "a private sentence";

const places = (page: Page) => page.getByRole("navigation").first();

describe("the voice page", () => {
  let upstream: Upstream;
  const shared = sharedConsole({
    site: async (group) => {
      // The voice server answers when the test tells it to.
      const script = { sentences: [sentence], recognizedText: sentence, questionPackets: 1_000 };
      upstream = await openUpstream({ script }, (stop) => group.atEnd(stop));
      const voice = { udpPort: 0, upstream: [{ url: upstream.server.url }] };
      return { config: { voice, devices: { admission: "open" } } };
    },
  });

  /** The board's connection to the voice server; other tests leave theirs in the inbox. */
  const connectionOf = async (board: VirtualDevice): Promise<BoardConnection> => {
    for (;;) {
      const connection = await upstream.connections.take();
      if (connection.headers["device-id"] === board.id) return connection;
    }
  };

  it("shows an active conversation with its statistics, and none of its content", {
    timeout: 30_000,
  }, async () => {
    const { page, complaints } = shared;
    const board = await shared.startBoard("hall", { over: "mqtt" });
    await shared.go("/voice");
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    await board.openAudio();
    const connection = await connectionOf(board);
    await page.getByText("1 active conversation").waitFor();
    const talk = page.getByRole("listitem").filter({ hasText: "hall" });
    await talk.getByText(new URL(upstream.server.url).host).waitFor();
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
    const { page, complaints } = shared;
    const board = await shared.startBoard("attic", { over: "mqtt" });
    await shared.go(`/devices/${board.id}`);
    const panel = page.locator("section").filter({ has: page.getByRole("heading", { name: "Voice" }) });
    await page.getByText("Agent tools").waitFor();
    expect(await panel.count()).toBe(0);
    await board.openAudio();
    await panel.getByText("Listening").waitFor();
    await panel.getByText(new URL(upstream.server.url).host).waitFor();
    await board.speak({ paceMs: 0 });
    await panel.getByText("20 packets").waitFor();
    await board.closeAudio();
    await panel.waitFor({ state: "detached" });
    complaints.check();
  });

  it("shows a new board at once when it starts with a conversation", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/voice");
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    const url = `${site.url.replace("http", "ws")}/xiaozhi/v1/`;
    const board = new VirtualDevice({ url, board: { mac: shared.newDeviceId() } });
    onTestFinished(() => board.stop());
    await board.connect();
    await page.getByText("1 active conversation").waitFor();
    complaints.check();
  });

  it("marks old statistics as not live", { timeout: 30_000 }, async () => {
    const { page } = shared;
    const board = await shared.startBoard("cellar", { over: "mqtt" });
    await board.openAudio();
    await shared.go("/voice");
    const talk = page.getByRole("listitem").filter({ hasText: "cellar" });
    await talk.waitFor();
    await page.getByText("1 active conversation").waitFor();
    await page.context().setOffline(true);
    await talk.getByText("Last known").waitFor();
    await page.getByText("Disconnected. Showing the last known state.").waitFor();
    expect(await talk.getByText(/^0:\d\d$/).count()).toBe(0);
    await board.closeAudio();
    await page.context().setOffline(false);
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
  });

  it("requires the scope read", async () => {
    const { site } = shared;
    const opened = await openConsole(site, "/", {}, await linkFor(site, "reader", ["read"]));
    const { page } = opened;
    await places(page).getByRole("link", { name: "Voice", exact: true }).click();
    await page.getByRole("heading", { name: "No active conversations" }).waitFor();
    await changeUser(opened, site, "/voice", await linkFor(site, "caller", ["call"]));
    await page.getByText("Your token cannot view devices. It needs the scope read.").waitFor();
    expect(await places(page).getByRole("link", { name: "Voice", exact: true }).count()).toBe(0);
  });

  it("explains to administrators how to set up a voice server when there is none", async () => {
    const site = await openConsoleSite();
    const opened = await openConsole(site, "/", {}, await linkFor(site, "reader", ["read"]));
    const { page, complaints } = opened;
    await places(page).getByRole("link", { name: "Overview" }).waitFor();
    expect(await places(page).getByRole("link", { name: "Voice", exact: true }).count()).toBe(0);
    await changeUser(opened, site, "/", site.tendon.consoleLink());
    await places(page).getByRole("link", { name: "Voice", exact: true }).click();
    await page.getByRole("heading", { name: "No voice server yet" }).waitFor();
    await page.getByText("upstream: ws://").waitFor();
    await page.getByRole("link", { name: "Read the guide" }).click();
    await page.getByRole("heading", { name: "In front of a self-hosted xiaozhi server" }).waitFor();
    complaints.check();
  });
});
