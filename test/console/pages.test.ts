/** Navigation between pages: preloaded pages appear at once. */
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { openConsole } from "./browser.ts";
import { openConsoleSite } from "./console-site.ts";

/** How many of these two pages have been loaded and run. */
const fetched = `(async () => {
  const files = performance.getEntriesByType("resource").map(({ name }) => name);
  const pages = files.filter((name) => /\\/assets\\/(connect|calls)-[^/]*\\.js$/.test(name));
  await Promise.all(pages.map((name) => import(name)));
  return await new Promise((resolve) => setTimeout(() => resolve(pages.length)));
})()`;

/** The content at the browser's next paint. */
const atOnce = (at: string) => `new Promise((resolve) => {
  history.pushState(null, "", ${JSON.stringify(at)});
  requestAnimationFrame(() => setTimeout(() => resolve(document.querySelector("h1")?.textContent ?? "nothing")));
})`;

describe("the pages", () => {
  it("are loaded in advance, and then shown without delay", async () => {
    const site = await openConsoleSite();
    const { page, complaints } = await openConsole(site);
    await until(async () => (await page.evaluate(fetched)) === 2, "the pages to be fetched ahead");
    expect(await page.evaluate(atOnce("/connect"))).toBe("Connect an agent");
    expect(await page.evaluate(atOnce("/calls"))).toBe("Calls");
    expect(await page.evaluate(atOnce("/"))).toBe("Fleet");
    complaints.check();
  });
});
