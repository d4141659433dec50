/** The webhooks page, with a real receiver. */
import { describe, expect, it } from "vitest";
import { openSite } from "../site.ts";
import { Receiver, verified } from "../webhooks/receiver.ts";
import { openConsole } from "./browser.ts";
import { linkFor } from "./console-site.ts";

describe("the webhooks page", () => {
  it("adds a webhook, shows its secret once, tests it, and lists and replays its deliveries", async () => {
    const receiver = await Receiver.open();
    const site = await openSite({ config: { webhooks: { allowHosts: [receiver.host] } } });
    const { page, complaints } = await openConsole(site);
    await page.getByRole("navigation").getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("No webhooks yet").waitFor();
    await page.getByRole("button", { name: "Add webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Address").fill("http://10.0.0.1/");
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    await dialog.getByText(/webhooks\.allowHosts` \(10\.0\.0\.1\)/).waitFor();
    complaints.expectRefusal(400);
    await dialog.getByLabel("Address").fill(receiver.url);
    await dialog.getByLabel("Name", { exact: true }).fill("flows");
    await dialog.getByLabel("Events").fill("device.*");
    await dialog.getByRole("button", { name: "Add webhook" }).click();
    await dialog.getByText("Copy it now. It is shown only once.").waitFor();
    const secret = (await dialog.getByRole("figure", { name: "Secret" }).locator("pre").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    await dialog.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("listitem", { name: "flows" });
    await row.getByText("Delivering").waitFor();
    expect(await page.content()).not.toContain(secret);
    await row.getByRole("button", { name: "Test" }).click();
    await row.getByText(/^The receiver answered 200 after /).waitFor();
    expect(verified(receiver.accepted[0] as never, secret)).toMatchObject({ type: "webhook.test" });
    await site.join();
    await row.getByRole("button", { name: "Deliveries" }).click();
    await row.getByText("device.online").waitFor();
    await row
      .getByText(/^HTTP 200/)
      .first()
      .waitFor();
    const before = receiver.accepted.length;
    await row.getByRole("button", { name: "Replay" }).click();
    await dialog.getByLabel("Events of the last").selectOption({ label: "24 hours" });
    await dialog.getByRole("button", { name: "Replay" }).click();
    await receiver.received(before + 1);
    complaints.check();
  });

  it("shows a receiver that fails, disables, enables, rotates and deletes", async () => {
    const receiver = await Receiver.open();
    const site = await openSite({ config: { webhooks: { allowHosts: [receiver.host] } } });
    await site.rest("POST", "/webhooks", { url: receiver.url, name: "flows" });
    receiver.answer(503);
    const { page, complaints } = await openConsole(site, "/webhooks");
    const row = page.getByRole("listitem", { name: "flows" });
    await row.getByText("Failing").waitFor();
    await row.getByText(/^Failed: HTTP status 503/).waitFor();
    await row.getByRole("button", { name: "Test" }).click();
    await row.getByText("The test failed: HTTP status 503").waitFor();
    await row.getByRole("button", { name: "Disable" }).click();
    await row.getByText("disabled by admin").waitFor();
    receiver.answer(200);
    await row.getByRole("button", { name: "Enable" }).click();
    await row.getByText("Delivering").waitFor();
    const dialog = page.getByRole("dialog");
    await row.getByRole("button", { name: "New secret" }).click();
    await dialog.getByText("For 24 hours, the old secret signs too.").waitFor();
    await dialog.getByRole("button", { name: "New secret" }).click();
    await dialog.getByText("Copy it now. It is shown only once.").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await row.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No webhooks yet").waitFor();
    complaints.check();
  });

  it("is for administrators only", async () => {
    const site = await openSite();
    const link = await linkFor(site, "viewer", ["read"]);
    const { page } = await openConsole(site, "/webhooks", {}, link);
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    expect(await page.getByRole("button", { name: "Add webhook" }).count()).toBe(0);
  });
});
