/** The card "Home Assistant" of the settings page. */
import { expect, it } from "vitest";
import { Assistant, makeToken, openBroker, state } from "../home-assistant/house.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { openConsole } from "./browser.ts";
import { desk, openConsoleSite, startBoard } from "./console-site.ts";

it("the card shows the token that is missing, then what is published, and links to the guide", async () => {
  const broker = await openBroker();
  const homeAssistant = { broker: broker.url("tendon", "the-gateways-password"), token: "home-assistant" };
  const site = await openConsoleSite({ config: { homeAssistant } });
  await startBoard(site, desk, "desk");
  const { page, complaints } = await openConsole(site, "/settings");
  await page.clock.install();
  const card = page.getByRole("region", { name: "Home Assistant" });
  await card.getByText("Waiting for a token").waitFor();
  await card.getByText("tendon token create home-assistant").waitFor();
  expect(await card.textContent()).not.toContain("the-gateways-password");
  await makeToken(site, ["read", "call"]);
  await page.clock.fastForward(6_000);
  await card.getByText("Connected", { exact: true }).waitFor();
  await card.getByText(/^Published devices: 1\. Entities: \d+\.$/).waitFor();
  await card.getByText(`127.0.0.1:${broker.port}`).waitFor();
  await card.getByText(/^Not heard of Home Assistant .* compare its discovery prefix/).waitFor();
  const assistant = await Assistant.connect(broker);
  await assistant.command("homeassistant/status", "online");
  await until(async () => (await state(site, "connected"))["seenAt"] !== null, "the birth message");
  await page.clock.fastForward(6_000);
  await card.getByText(/^Last heard of Home Assistant:/).waitFor();
  await card.getByRole("link", { name: "Set up Home Assistant" }).click();
  await page.getByRole("heading", { name: "Home Assistant", level: 1 }).waitFor();
  complaints.check();
});

it("the card of a gateway without the setting says how to begin", async () => {
  const { page } = await openConsole(await openSite(), "/settings");
  await page.getByText("Not configured. With it, your boards appear in Home Assistant as devices.").waitFor();
});
