import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { adminToken, openSite, type Site } from "../site.ts";
import { openConsole, openPage } from "./browser.ts";

/** Signs in as the page does, without a browser, and returns the status. */
async function signIn(site: Site, secret: string): Promise<number> {
  const headers = { origin: site.url, "x-tendon-console": "1", "content-type": "application/json" };
  const body = JSON.stringify({ secret });
  return (await askAll(site.url, { method: "POST", path: "/api/v1/session", headers, body })).status;
}

/** Lets seconds pass in the page until it shows this. */
async function passUntil(page: Page, shown: Locator): Promise<void> {
  await until(async () => {
    await page.clock.runFor(1_000);
    return await shown.isVisible();
  }, String(shown));
}

describe("the sign-in page", () => {
  it("signs in with the printed link and removes the code from the address", async () => {
    const site = await openSite();
    const { page, complaints } = await openConsole(site);
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(page.url()).toBe(`${site.url}/`);
    complaints.check();
  });

  it("signs in with a link pasted into its own tab", async () => {
    const site = await openSite();
    const { page, complaints } = await openPage();
    await page.goto(`${site.url}/`);
    await page.getByLabel("Token or code").waitFor();
    complaints.expectRefusal(401);
    // In the same tab only the fragment changes, and nothing is loaded.
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(site.tendon.consoleLink()).hash)}`);
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    expect(page.url()).toBe(`${site.url}/`);
    complaints.check();
  });

  it("signs in with a token and Enter, rejects a wrong token, and signs out", async () => {
    const site = await openSite();
    const { page, context, complaints } = await openPage();
    await page.goto(`${site.url}/calls`);
    const field = page.getByLabel("Token or code");
    await field.fill("not-a-token");
    await field.press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
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

  it("explains how to replace a used link, and asks to wait after too many attempts", async () => {
    const site = await openSite();
    const link = site.tendon.consoleLink();
    expect(await signIn(site, new URL(link).hash.slice("#code=".length))).toBe(200);
    const { page } = await openPage();
    await page.goto(link);
    await page
      .getByText("This link was already used or has expired. Run the command below to get a new one.")
      .waitFor();
    for (let attempt = 0; attempt < 10; attempt += 1) await signIn(site, `wrong-${attempt}`);
    await page.getByLabel("Token or code").fill("wrong again");
    await page.getByLabel("Token or code").press("Enter");
    await page.getByText("Too many failed attempts. Wait a few seconds, then try again.").waitFor();
  });
});

describe("an open page during a gateway restart", () => {
  it("stays signed in and continues to update", async () => {
    const site = await openSite();
    const device = await site.join();
    await site.call(device.id, "nothing");
    const { page, complaints } = await openConsole(site);
    await page.clock.install();
    await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
    await page.getByRole("definition").filter({ hasText: /^1$/ }).first().waitFor();
    device.cut();
    await site.tendon.stop();
    await page.getByText("Connection lost, reconnecting.").waitFor();
    const again = await openSite({
      config: { data: site.folder, http: { port: Number(new URL(site.url).port) } },
    });
    const back = await again.join();
    // The longest pause between two attempts.
    await page.clock.fastForward(10_000);
    await page.getByText("Connection lost, reconnecting.").waitFor({ state: "detached" });
    await again.call(back.id, "nothing");
    await passUntil(page, page.getByRole("definition").filter({ hasText: /^2$/ }));
    expect(
      complaints.all.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/.test(text)),
    ).toEqual([]);
  });
});

describe("a page that is reloaded after a gateway restart", () => {
  it("is still signed in, at the same address", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "ann", scopes: ["admin"] });
    const { page, complaints } = await openPage();
    await page.goto(`${site.url}/audit?action=token.create`);
    await page.getByLabel("Token or code").fill(String(body["token"]));
    await page.getByLabel("Token or code").press("Enter");
    await page.getByRole("cell", { name: "ann" }).waitFor();
    await site.tendon.stop();
    await page.getByText("Connection lost, reconnecting.").waitFor();
    // What was loaded stays visible.
    expect(await page.getByRole("cell", { name: "ann" }).count()).toBe(1);
    await openSite({ config: { data: site.folder, http: { port: Number(new URL(site.url).port) } } });
    await page.reload();
    await page.getByRole("cell", { name: "ann" }).waitFor();
    await page.getByRole("button", { name: "ann" }).waitFor();
    expect(page.url()).toBe(`${site.url}/audit?action=token.create`);
    expect(
      complaints.all.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/.test(text)),
    ).toEqual([]);
  });

  it("says that the gateway does not answer, and continues when it does", async () => {
    const site = await openSite();
    const { page, context } = await openConsole(site, "/calls");
    await page.clock.install();
    await context.route("**/api/v1/session", (route) => route.abort());
    await page.reload();
    await passUntil(page, page.getByText("The gateway does not answer"));
    await context.unroute("**/api/v1/session");
    await passUntil(page, page.getByRole("heading", { name: "Calls" }));
  });
});

describe("a page whose session has ended", () => {
  it("returns to where the user was, also with a link that opens another tab", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock });
    const { page, context } = await openConsole(site, "/audit?action=token.create");
    const place = `${site.url}/audit?action=token.create`;
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    clock.advance(12 * 3_600_000);
    // Any request notices the end, here that of the filter.
    await page.getByLabel("Action", { exact: true }).selectOption({ label: "Token revoked" });
    await page.getByText("You were signed out").waitFor();
    expect(page.url()).toBe(`${site.url}/audit?action=token.revoke`);
    const tab = await context.newPage();
    await tab.goto(site.tendon.consoleLink());
    await tab.getByRole("heading", { name: "Audit" }).waitFor();
    expect(tab.url()).toBe(`${site.url}/audit?action=token.revoke`);
    // Later the start page opens again.
    await tab.goto(site.url);
    await tab.getByRole("heading", { name: "Fleet" }).waitFor();
    await page.goto(place);
    await page.getByRole("heading", { name: "Audit" }).waitFor();
  });

  const languages = {
    en: [
      "The admin token is in the file admin-token in the gateway's data folder.",
      "You were signed out",
      "Sessions end after 12 hours without use.",
    ],
    zh: ["管理员令牌在网关数据文件夹的 admin-token 文件里。", "你已退出登录", "会话在 12 小时未使用后结束。"],
    es: [
      "El token de administrador está en el archivo admin-token de la carpeta de datos de la pasarela.",
      "Su sesión se ha cerrado",
      "Las sesiones terminan tras 12 horas sin uso.",
    ],
    vi: [
      "Token quản trị nằm trong tệp admin-token ở thư mục dữ liệu của gateway.",
      "Bạn đã bị đăng xuất",
      "Phiên kết thúc sau 12 giờ không sử dụng.",
    ],
  };
  it.each(Object.entries(languages))(
    "explains in %s, once, where the admin token is, and later why the session ended and what to do",
    async (locale, [where = "", title = "", why = ""]) => {
      const clock = new ManualClock();
      const site = await openSite({ clock });
      const { page } = await openPage({ locale });
      await page.goto(`${site.url}/calls`);
      const field = page.locator("input[name=secret]");
      await field.fill("not-a-token");
      await field.press("Enter");
      await page.getByRole("alert").waitFor();
      const alert = (await page.getByRole("alert").textContent()) ?? "";
      expect(alert).toContain(where);
      expect(alert.match(/[.。]/g)).toHaveLength(2);
      const describedBy = await field.getAttribute("aria-describedby");
      expect(await page.locator(`[id="${describedBy ?? ""}"]`).textContent()).toBe(alert);

      await field.fill(adminToken);
      await field.press("Enter");
      await page.getByRole("navigation").first().waitFor();
      clock.advance(12 * 3_600_000);
      await page.reload();
      const notice = page.getByRole("status").filter({ hasText: title });
      await notice.waitFor();
      expect(await notice.textContent()).toContain(why);
      await page.getByText("tendon console").waitFor();
      await field.fill(adminToken);
      await field.press("Enter");
      await page.getByRole("navigation").first().waitFor();
      expect(page.url()).toBe(`${site.url}/calls`);
      expect(await notice.count()).toBe(0);
    },
  );

  it("says so at once when its token is revoked, or when another tab signs out", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "viewer", scopes: ["read"] });
    const { page, context } = await openPage();
    const field = page.getByLabel("Token or code");
    await page.goto(site.url);
    await field.fill(String(body["token"]));
    await field.press("Enter");
    await page.getByRole("navigation").first().waitFor();
    await site.rest("DELETE", `/tokens/${String(body["id"])}`);
    await page
      .getByText("The token you signed in with was revoked or replaced, or it has expired.")
      .waitFor();

    await field.fill(adminToken);
    await field.press("Enter");
    const neighbour = await context.newPage();
    await neighbour.goto(site.url);
    await neighbour.getByRole("navigation").first().waitFor();
    await page.getByRole("button", { name: "admin" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await field.waitFor();
    await neighbour.getByText("You signed out in another tab, or the browser deleted its cookies.").waitFor();
    expect(await page.getByText("You were signed out").count()).toBe(0);
  });
});
