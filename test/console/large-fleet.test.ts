import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { placeLargeFleet } from "../../packages/gateway/test/store/large-fleet.ts";
import { until } from "../inbox.ts";
import { openSite } from "../site.ts";
import { openConsole } from "./browser.ts";

it("loads a part of a very large fleet once, and counts all of it", async () => {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-fleet-"));
  onTestFinished(() => fs.rmSync(data, { recursive: true, force: true }));
  await placeLargeFleet(data, 10_600);
  const site = await openSite({ config: { data } });
  await site.join({ deviceId: "ff:00:00:00:00:01" });
  const { page, complaints } = await openConsole(site, "/audit");
  const pages: string[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/api/v1/devices" && searchParams.get("limit") === "500")
      pages.push(searchParams.get("cursor") ?? "first");
  });
  await page.getByRole("link", { name: "Fleet", exact: true }).first().click();
  await page.getByText("1 online · 10,600 offline").waitFor();
  await page.getByText("Showing the first 10,000 of 10,601 devices.").waitFor();
  await until(() => pages.length >= 21, "20 pages in the order of the list");
  // A device that is not among the loaded rows changes the counts, and loads no page again.
  await site.join({ deviceId: "ff:00:00:00:00:02" });
  await page.getByText("2 online · 10,600 offline").waitFor();
  await page.getByText("Showing the first 10,000 of 10,602 devices.").waitFor();
  expect(pages.filter((cursor) => cursor === "first")).toHaveLength(2);
  expect(pages).toHaveLength(21);
  complaints.check();
}, 60_000);
