/** Texts of devices and tokens that try to run as script in the console, and pages that try to frame it. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { openPage } from "./browser.ts";
import { sharedConsole } from "./shared-console.ts";

const shared = sharedConsole();
const script = `<img src=x onerror="window.hit=1"><script>window.hit=1</script><svg onload="window.hit=1">`;

describe("texts of others with script in them", () => {
  it("are shown as text on every page, and run nothing", async () => {
    const { site, page, complaints } = shared;
    const hostile = {
      name: "self.lamp.on",
      description: script,
      inputSchema: { type: "object", properties: {} },
    };
    const device = await shared.join({ board: script.slice(0, 60), firmware: "1.0.0<b>", tools: [hostile] });
    device.notify(script.slice(0, 40), { text: script });
    const call = site.call(device.id, hostile.name, { [script]: script });
    device.reply((await device.nextRequest("tools/call")).id, {
      content: [{ type: "text", text: script }],
      isError: true,
    });
    const { body } = await call;
    await site.rest("POST", "/tokens", { name: script.slice(0, 64), scopes: ["read"] });
    await site.rest("PATCH", `/devices/${device.id}`, { alias: "hostile" });
    const callId = String(body["callId"]);
    const pages: readonly [string, string][] = [
      [`/devices/${device.id}`, "hostile"],
      ["/", "hostile"],
      ["/calls", hostile.name],
      [`/calls/${callId}`, "onerror"],
      ["/tokens", "onerror"],
      ["/audit", "onerror"],
    ];
    for (const [at, shown] of pages) {
      await shared.load(at);
      await page.getByText(shown).first().waitFor();
      expect(await page.evaluate("window.hit"), at).toBeUndefined();
      expect(await page.locator('img[src="x"], main script, svg[onload]').count(), at).toBe(0);
    }
    // A content security policy that had to stop something would complain.
    complaints.check();
  });
});

describe("a page of another origin", () => {
  it.each(["/", "/docs/"])("cannot show %s in a frame", async (at) => {
    const { site } = shared;
    const server = http.createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<title>other</title><iframe src="${site.url}${at}"></iframe>`);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { page, complaints } = await openPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const [, frame] = page.frames();
    expect(frame?.url()).toMatch(/^chrome-error:/);
    expect(complaints.all.join("\n")).toMatch(/frame-ancestors 'none'/);
  });
});
