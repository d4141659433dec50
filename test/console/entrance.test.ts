import { afterAll, describe, expect, it } from "vitest";
import { adminToken, openSite } from "../site.ts";
import { closeBrowser, openConsole, openPage } from "./browser.ts";

afterAll(closeBrowser);

describe("the entrance", () => {
  it("opens with the printed link, which leaves no trace in the address", async () => {
    const site = await openSite();
    const { page, complaints } = await openConsole(site);
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(page.url()).toBe(`${site.url}/`);
    complaints.check();
  });

  it("opens with a link pasted into the tab that asks who is there", async () => {
    const site = await openSite();
    const { page, complaints } = await openPage();
    await page.goto(`${site.url}/`);
    await page.getByLabel("Token or code").waitFor();
    complaints.expectRefusal(401);
    // In the tab itself: only the fragment changes, and nothing is loaded.
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(site.tendon.consoleLink()).hash)}`);
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(page.url()).toBe(`${site.url}/`);
    complaints.check();
  });

  it("opens with a token and Enter, says what is wrong with another, and lets go again", async () => {
    const site = await openSite();
    const { page, context, complaints } = await openPage();
    await page.goto(`${site.url}/calls`);
    const field = page.getByLabel("Token or code");
    await field.fill("not-a-token");
    await field.press("Enter");
    await page.getByText("This does not let you in").waitFor();
    complaints.expectRefusal(401);
    await field.fill(adminToken);
    await field.press("Enter");
    await page.getByRole("navigation").first().waitFor();
    const [cookie] = await context.cookies(`${site.url}/api/v1/session`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/api/v1" });
    await page.getByRole("button", { name: "admin" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await field.waitFor();
    expect(await context.cookies(`${site.url}/api/v1/session`)).toEqual([]);
    complaints.check();
  });
});
