/** A program that writes without end, or leaves others behind, costs the gateway and the other devices nothing. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { openSite, type Site } from "./site.ts";

const programs = fileURLToPath(new URL("./programs", import.meta.url));
const stopsWithinMs = 5_000;

async function siteWith(program: string, args: string[] = [], more: { protocol?: "mcp" } = {}) {
  const lines: string[] = [];
  const logger = pino({ level: "info" }, { write: (line) => lines.push(line) });
  const hostile = {
    alias: "hostile",
    command: process.execPath,
    args: [path.join(programs, program), ...args],
    ...more,
  };
  const lamp = { alias: "lamp", command: process.execPath, args: [path.join(programs, "lamp.mjs")] };
  const site = await openSite({ logger, config: { devices: { stdio: [hostile, lamp] } } });
  for (const alias of ["hostile", "lamp"]) await site.listed(alias);
  return { site, lines };
}

async function expectLampWorks(site: Site): Promise<void> {
  expect((await site.call("lamp", "lamp.get")).status).toBe(200);
}

describe("a program that floods", () => {
  it("its stderr is logged within a rate, keeps working, and stops in time", async () => {
    const { site, lines } = await siteWith("hostile.mjs", ["stderr"]);
    await until(() => lines.some((line) => line.includes("lines were left out")), "what was left out");
    expect(lines.filter((line) => line.includes("noise")).length).toBeLessThan(1_500);
    await expectLampWorks(site);
    expect((await site.call("hostile", "a")).status).toBe(200);
    const from = performance.now();
    await site.tendon.stop();
    expect(performance.now() - from).toBeLessThan(stopsWithinMs);
  });

  it("events is paused, then ended", async () => {
    const { site, lines } = await siteWith("hostile.mjs", ["events"]);
    await until(() => lines.some((line) => line.includes("writes too many lines")), "its end");
    await expectLampWorks(site);
  });

  it("tool lists is stored rarely, with the latest list", async () => {
    const { site } = await siteWith("hostile.mjs", ["lists"]);
    const events = await site.events("?type=device.tools_changed");
    await events.next();
    const first = (await site.toolNames("hostile")).at(-1);
    await events.next();
    // On a busy machine both events may have come before the first look.
    await until(async () => (await site.toolNames("hostile")).at(-1) !== first, "a later list");
    await expectLampWorks(site);
  });

  it("list_changed is listed at most once a second", async () => {
    const { site } = await siteWith("mcp-changing.mjs", [], { protocol: "mcp" });
    const listings = async () => {
      const { body } = await site.call("hostile", "count");
      const { content } = body["result"] as { content: { text: string }[] };
      return Number(content[0]?.text);
    };
    const from = performance.now();
    const before = await listings();
    const after = await until(async () => {
      const count = await listings();
      return count >= before + 2 ? count : undefined;
    }, "two more listings");
    // One may have been due at the start.
    expect(after - before - 1).toBeLessThanOrEqual((performance.now() - from) / 1_000);
    await expectLampWorks(site);
  });
});

describe("a program whose own child holds its pipes", () => {
  it("is restarted, and the child is ended", async () => {
    const folder = fs.mkdtempSync(path.join(process.env["TMPDIR"] ?? "/tmp", "tendon-grandchild-"));
    const file = path.join(folder, "pid");
    const { site, lines } = await siteWith("hostile.mjs", ["grandchild", file]);
    const pid = await until(() => (fs.existsSync(file) ? Number(fs.readFileSync(file, "utf8")) : undefined));
    fs.rmSync(file);
    await site.call("hostile", "a");
    await until(() => lines.some((line) => line.includes("exited with code 1")), "its end");
    await until(() => !isRunning(pid), "the end of its child");
    await until(() => fs.existsSync(file), "the next run");
    fs.rmSync(folder, { recursive: true });
  });
});

/** A process that has ended stays in the table until its parent asks, which some containers never do. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
