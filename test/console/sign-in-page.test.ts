import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.ts";
import { adminToken, openSite } from "../site.ts";
import { openConsole, openPage } from "./browser.ts";

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

  const sentences = {
    en: "The admin token is in the file admin-token in the gateway's data folder.",
    zh: "管理员令牌在网关数据文件夹的 admin-token 文件里。",
    es: "El token de administrador está en el archivo admin-token de la carpeta de datos de la pasarela.",
    vi: "Token quản trị nằm trong tệp admin-token ở thư mục dữ liệu của gateway.",
  };
  it.each(Object.entries(sentences))(
    "explains in %s, once, where the admin token is",
    async (locale, sentence) => {
      const site = await openSite();
      const { page } = await openPage({ locale });
      await page.goto(`${site.url}/`);
      const field = page.locator("input[name=secret]");
      await field.fill("not-a-token");
      await field.press("Enter");
      await page.getByRole("alert").waitFor();
      const alert = (await page.getByRole("alert").textContent()) ?? "";
      expect(alert).toContain(sentence);
      expect(alert.match(/[.。]/g)).toHaveLength(2);
      const describedBy = await field.getAttribute("aria-describedby");
      expect(await page.locator(`[id="${describedBy ?? ""}"]`).textContent()).toBe(alert);
    },
  );

  it("explains how to replace a used link, and asks to wait after too many attempts", async () => {
    const site = await openSite();
    const link = site.tendon.consoleLink();
    await (await openConsole(site, "/", {}, link)).context.close();
    const { page } = await openPage();
    await page.goto(link);
    await page
      .getByText("This link was already used or has expired. Run the command below to get a new one.")
      .waitFor();
    const field = page.getByLabel("Token or code");
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await field.fill(`wrong-${attempt}`);
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/session"));
      await field.press("Enter");
      await answered;
      await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    }
    await page.getByText("Too many failed attempts. Wait a few seconds, then try again.").waitFor();
  });
});

describe("an open page during a gateway restart", () => {
  it("stays signed in and continues to update", async () => {
    const site = await openSite();
    const device = await site.join();
    await site.call(device.id, "nothing");
    const { page, complaints } = await openConsole(site, "/overview");
    await page.getByRole("definition").filter({ hasText: /^1$/ }).first().waitFor();
    device.cut();
    await site.tendon.stop();
    await page.getByText("Connection lost, reconnecting.").waitFor();
    const again = await openSite({
      config: { data: site.folder, http: { port: Number(new URL(site.url).port) } },
    });
    const back = await again.join();
    await page.getByText("Connection lost, reconnecting.").waitFor({ state: "detached" });
    await again.call(back.id, "nothing");
    await page.getByRole("definition").filter({ hasText: /^2$/ }).waitFor();
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
    await context.route("**/api/v1/session", (route) => route.abort());
    await page.reload();
    await page.getByText("The gateway does not answer").waitFor();
    await context.unroute("**/api/v1/session");
    await page.getByRole("heading", { name: "Calls" }).waitFor();
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
    // A later link opens the start page again.
    const later = await context.newPage();
    await later.goto(site.url);
    await later.getByRole("heading", { name: "Fleet" }).waitFor();
    await page.goto(place);
    await page.getByRole("heading", { name: "Audit" }).waitFor();
  });

  const languages = {
    en: ["You were signed out", "Sessions end after 12 hours without use."],
    zh: ["你已退出登录", "会话在 12 小时未使用后结束。"],
    es: ["Su sesión se ha cerrado", "Las sesiones terminan tras 12 horas sin uso."],
    vi: ["Bạn đã bị đăng xuất", "Phiên kết thúc sau 12 giờ không sử dụng."],
  };
  it.each(Object.entries(languages))(
    "explains in %s why it ended and what to do",
    async (locale, [title = "", why = ""]) => {
      const clock = new ManualClock();
      const site = await openSite({ clock });
      const { page } = await openConsole(site, "/calls", { locale });
      clock.advance(12 * 3_600_000);
      await page.reload();
      const notice = page.getByRole("status").filter({ hasText: title });
      await notice.waitFor();
      expect(await notice.textContent()).toContain(why);
      await page.getByText("tendon console").waitFor();
      await page.locator("input[name=secret]").fill(adminToken);
      await page.locator("input[name=secret]").press("Enter");
      await page.getByRole("navigation").first().waitFor();
      expect(page.url()).toBe(`${site.url}/calls`);
      expect(await notice.count()).toBe(0);
    },
  );

  it("says so at once when its token is revoked, or when another tab signs out", async () => {
    const site = await openSite();
    const { body } = await site.rest("POST", "/tokens", { name: "viewer", scopes: ["read"] });
    const viewer = await openPage();
    await viewer.page.goto(site.url);
    await viewer.page.getByLabel("Token or code").fill(String(body["token"]));
    await viewer.page.getByLabel("Token or code").press("Enter");
    await viewer.page.getByRole("navigation").first().waitFor();
    await site.rest("DELETE", `/tokens/${String(body["id"])}`);
    await viewer.page
      .getByText("The token you signed in with was revoked or replaced, or it has expired.")
      .waitFor();

    const { page, context } = await openConsole(site);
    const neighbour = await context.newPage();
    await neighbour.goto(site.url);
    await neighbour.getByRole("navigation").first().waitFor();
    await page.getByRole("button", { name: "admin" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByLabel("Token or code").waitFor();
    await neighbour.getByText("You signed out in another tab, or the browser deleted its cookies.").waitFor();
    expect(await page.getByText("You were signed out").count()).toBe(0);
  });
});
