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
    en: "its administrator's token is in the file admin-token of its data folder.",
    zh: "管理员令牌在网关数据文件夹的 admin-token 文件里。",
    es: "el token de su administrador está en el archivo admin-token de su carpeta de datos.",
    vi: "token của quản trị viên nằm trong tệp admin-token ở thư mục dữ liệu của gateway.",
  };
  it.each(Object.entries(sentences))("says in %s, once, where the right token is", async (locale, words) => {
    const site = await openSite();
    const { page } = await openPage({ locale });
    await page.goto(`${site.url}/`);
    const field = page.locator("input[name=secret]");
    await field.fill("not-a-token");
    await field.press("Enter");
    await page.getByRole("alert").waitFor();
    const said = (await page.getByRole("alert").textContent()) ?? "";
    expect(said).toContain(words);
    expect(said.match(/[.。]/g)).toHaveLength(1);
    const describedBy = await field.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${describedBy ?? ""}"]`).textContent()).toBe(said);
  });

  it("says of a link that was used already where a new one comes from, and of too many tries to wait", async () => {
    const site = await openSite();
    const link = site.tendon.consoleLink();
    await (await openConsole(site, "/", {}, link)).context.close();
    const { page } = await openPage();
    await page.goto(link);
    await page
      .getByText("This link has been used or is too old; the command below prints a new one.")
      .waitFor();
    const field = page.getByLabel("Token or code");
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await field.fill(`wrong-${attempt}`);
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/session"));
      await field.press("Enter");
      await answered;
      await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    }
    await page.getByText("Too many wrong tries from here; wait a few seconds, then try again.").waitFor();
  });
});
