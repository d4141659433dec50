/** Going from page to page: what was fetched ahead is there at once. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { openConsole } from "./browser.ts";
import { openConsoleSite } from "./console-site.ts";

/** How many of these two have been fetched by the page itself, and have run. */
const fetched = `(async () => {
  const files = performance.getEntriesByType("resource").map(({ name }) => name);
  const pages = files.filter((name) => /\\/assets\\/(connect|calls)-[^/]*\\.js$/.test(name));
  await Promise.all(pages.map((name) => import(name)));
  return await new Promise((resolve) => setTimeout(() => resolve(pages.length)));
})()`;

/** What is there when the browser paints next. */
const atOnce = (at: string) => `new Promise((resolve) => {
  history.pushState(null, "", ${JSON.stringify(at)});
  requestAnimationFrame(() => setTimeout(() => resolve(document.querySelector("h1")?.textContent ?? "nothing")));
})`;

describe("the pages", () => {
  it("are fetched while nobody waits, and then shown without a pause", async () => {
    const site = await openConsoleSite();
    const { page, complaints } = await openConsole(site);
    await until(async () => (await page.evaluate(fetched)) === 2, "the pages to be fetched ahead");
    expect(await page.evaluate(atOnce("/connect"))).toBe("Connect an agent");
    expect(await page.evaluate(atOnce("/calls"))).toBe("Calls");
    expect(await page.evaluate(atOnce("/"))).toBe("Fleet");
    complaints.check();
  });
});
