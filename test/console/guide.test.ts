/** The guides in the console, which work without internet access. */
import fs from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { openConsole } from "./browser.ts";
import { sharedConsole } from "./shared-console.ts";

const docs = new URL("../../docs/", import.meta.url);
const guides = ["", "guides/", "guides/clients/", "reference/", "operations/"].flatMap((folder) =>
  fs
    .readdirSync(new URL(folder, docs))
    .filter((file) => file.endsWith(".md") && file !== "README.md")
    .map((file) => ({ name: file.slice(0, -3), file: new URL(`${folder}${file}`, docs) })),
);

const patienceMs = 15_000;

/** Opens a guide, waits for its title inside the page, and returns by how many pixels it is wider than the screen. */
function visit(name: string, title: string): string {
  return `new Promise((resolve, reject) => {
    const end = performance.now() + ${patienceMs};
    const look = () => {
      const { scrollWidth } = document.documentElement;
      if (document.querySelector("h1")?.innerText === ${JSON.stringify(title)}) resolve(scrollWidth - innerWidth);
      else if (performance.now() < end) requestAnimationFrame(look);
      else reject(new Error(location + " has another title: " + document.body.innerText.slice(0, 500)));
    };
    history.pushState(null, "", ${JSON.stringify(`/guides/${name}`)});
    look();
  })`;
}

describe("a guide", () => {
  const shared = sharedConsole();

  it("opens from its page with headings, tables and commands, and links back", async () => {
    const { site, page, complaints } = shared;
    // Only the gateway is reachable.
    await page.route(
      (url) => !url.href.startsWith(site.url),
      (route) => route.abort(),
    );
    onTestFinished(() => page.unrouteAll());
    await shared.go("/firmware");
    await page.getByRole("link", { name: "Read the guide" }).click();
    await page.getByRole("heading", { level: 1, name: "Firmware updates" }).waitFor();
    expect(page.url()).toBe(`${site.url}/guides/firmware-updates`);
    expect(await page.title()).toBe("Firmware updates · Tendon");
    await page.getByRole("heading", { level: 2, name: "Which boards get the offer" }).waitFor();
    await page.getByRole("cell", { name: "firmware share ID 50%" }).waitFor();
    await page.getByRole("figure", { name: "sh" }).first().getByRole("button", { name: "Copy" }).waitFor();
    const text = (await page.getByRole("article").textContent()) ?? "";
    expect(text).not.toMatch(/```|\]\(|^#|\*\*/m);
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Firmware", exact: true }).waitFor();
    complaints.check();
  });

  it("links to other guides and their sections, and names files that are not served", async () => {
    const { site, page, complaints } = shared;
    await shared.go("/voice");
    await page.getByRole("link", { name: "Read the guide" }).click();
    await page.getByRole("link", { name: "wire protocol" }).click();
    await page.locator("#voice").waitFor();
    expect(page.url()).toBe(`${site.url}/guides/wire#voice`);
    await page.locator("#voice").and(page.locator(":visible")).waitFor();
    expect((await page.locator("#voice").boundingBox())?.y).toBeLessThan(100);
    await page.goBack();
    await page.getByRole("link", { name: "firmware updates" }).click();
    await page.getByRole("heading", { level: 1, name: "Firmware updates" }).waitFor();
    await shared.go("/guides/agents");
    await page.getByRole("link", { name: "Cursor" }).first().click();
    await page.waitForURL(`${site.url}/guides/cursor`);
    await shared.go("/guides/companion-app");
    await page.getByText("(examples/companion.mjs)").waitFor();
    complaints.check();
  });

  it("exists for every page of the documentation and fits a narrow screen", async () => {
    const { page, complaints } = shared;
    await page.setViewportSize({ width: 360, height: 740 });
    for (const { name, file } of guides) {
      const title = fs.readFileSync(file, "utf8").split("\n", 1)[0]?.replace(/^# |`/g, "");
      expect(await page.evaluate(visit(name, title ?? "")), name).toBeLessThanOrEqual(0);
    }
    await page.evaluate('history.pushState(null, "", "/guides/none")');
    await page.getByText("This page does not exist").waitFor();
    complaints.check();
  });

  it("says in the other languages that it is in English", async () => {
    const { page } = await openConsole(shared.site, "/guides/voice", { locale: "zh-CN" });
    await page.getByText("本指南为英文。").waitFor();
    expect(await page.getByRole("article").getAttribute("lang")).toBe("en");
  });

  it("is shown in its own language if it is a translation, and links to the others", async () => {
    const { site } = shared;
    const { page, complaints } = await openConsole(site, "/guides/home.es", { locale: "es-ES" });
    await page.getByRole("heading", { level: 1, name: "La casa simulada" }).waitFor();
    expect(await page.getByRole("article").getAttribute("lang")).toBe("es");
    expect(await page.getByText("Esta guía está en inglés.").count()).toBe(0);
    await page.getByRole("link", { name: "English" }).click();
    await page.getByRole("heading", { level: 1, name: "The simulated home" }).waitFor();
    expect(page.url()).toBe(`${site.url}/guides/home`);
    complaints.check();
  });
});
