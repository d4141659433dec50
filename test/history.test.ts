import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { until } from "./inbox.ts";
import { ManualClock } from "./manual-clock.ts";
import { textContent, tool } from "./raw-device.ts";
import { RestartingGateway } from "./restarting-gateway.ts";
import { firstDevice, openSite, type Site } from "./site.ts";

const lamp = tool("self.lamp.set", { level: { type: "integer" }, note: { type: "string" } });
const day = 24 * 60 * 60_000;

interface Row {
  readonly callId: string;
  readonly tool: string;
  readonly outcome: string;
  readonly argumentDigest: string;
  readonly arguments?: unknown;
}

interface Asked {
  rest(method: string, at: string): ReturnType<Site["rest"]>;
}

async function rows(site: Asked, query = ""): Promise<Row[]> {
  return (await site.rest("GET", `/calls?limit=1000${query}`)).body["calls"] as unknown as Row[];
}

describe("arguments in the history", () => {
  it("are stored as a digest by default", async () => {
    const site = await openSite();
    const device = await site.join({ tools: [lamp] });
    const answer = site.call(firstDevice, lamp.name, { level: 3, note: "a private word" });
    device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
    await answer;
    const { text } = await site.rest("GET", "/calls");
    expect(text).not.toContain("private");
    const [row] = await rows(site);
    expect(row?.argumentDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(row).not.toHaveProperty("arguments");
  });

  it("have equal digests if they are equal, also across a restart, which cannot be computed without the key", async () => {
    const gateway = await RestartingGateway.start({});
    const digestOf = async (args: object) => {
      const device = await gateway.join(firstDevice, { tools: [lamp] });
      const answer = gateway.rest("POST", `/devices/${firstDevice}/tools/${lamp.name}/call`, {
        arguments: args,
      });
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      await answer;
      return (await rows(gateway))[0]?.argumentDigest;
    };
    const first = await digestOf({ level: 3 });
    expect(first).not.toBe(hash("sha256", JSON.stringify({ level: 3 })));
    expect(await digestOf({ level: 4 })).not.toBe(first);
    await gateway.restart();
    expect(await digestOf({ level: 3 })).toBe(first);
  });

  it("are stored if configured, also across a restart; long ones only as a digest", async () => {
    const gateway = await RestartingGateway.start({ calls: { keepArguments: true } });
    const device = await gateway.join(firstDevice, { tools: [lamp] });
    const call = async (args: object) => {
      const answer = gateway.rest("POST", `/devices/${firstDevice}/tools/${lamp.name}/call`, {
        arguments: args,
      });
      device.reply((await device.nextRequest("tools/call")).id, textContent("ok"));
      await answer;
    };
    await call({ level: 3, note: "for the record" });
    await call({ note: "x".repeat(17_000) });
    await gateway.rest("POST", `/devices/${firstDevice}/tools/${lamp.name}/call`, {
      arguments: { level: "no" },
    });
    await gateway.restart();
    const [refused, long, first] = await rows(gateway);
    expect(first?.arguments).toEqual({ level: 3, note: "for the record" });
    expect(long).not.toHaveProperty("arguments");
    expect(refused).toMatchObject({ outcome: "arguments_invalid", arguments: { level: "no" } });
  });
});

describe("the history's limit", () => {
  it("is set by count", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: { calls: { keepCount: 5 } } });
    await site.join({ tools: [lamp] });
    for (let count = 0; count < 12; count += 1) await site.call(firstDevice, `missing-${count}`);
    expect(await rows(site)).toHaveLength(12);
    await until(async () => {
      clock.advance(10_000);
      return (await rows(site)).length === 5;
    }, "the oldest to go");
    expect((await rows(site)).map((row) => row.tool)).toEqual([11, 10, 9, 8, 7].map((at) => `missing-${at}`));
  });

  it("is set by age", async () => {
    const clock = new ManualClock();
    const site = await openSite({ clock, config: { calls: { keepDays: 2 } } });
    const device = await site.join({ tools: [lamp] });
    await site.call(firstDevice, "missing-old");
    device.cut();
    await until(async () => (await site.device(firstDevice))["online"] === false);
    clock.advance(1.5 * day);
    await site.call(firstDevice, "missing-new");
    expect(await rows(site)).toHaveLength(2);
    clock.advance(0.6 * day);
    await until(async () => {
      clock.advance(10_000);
      return (await rows(site)).length === 1;
    }, "the oldest to go");
    expect((await rows(site))[0]?.tool).toBe("missing-new");
  });
});
