/** Two boards with the same identity, such as a cloned flash: each displaces the other. */
import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { ManualClock } from "./manual-clock.ts";
import { mqttTransport } from "./mqtt-wire.ts";
import { firstDevice, openSite } from "./site.ts";
import { webSocketTransport } from "./websocket-wire.ts";

async function openWatched() {
  const levels: string[] = [];
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      const { msg, level, device } = JSON.parse(line.toString()) as Record<string, unknown>;
      if (device === firstDevice && String(msg).includes("took over")) levels.push(`${level}`);
      done();
    },
  });
  const clock = new ManualClock();
  const logger = pino({ formatters: { level: (level) => ({ level }) } }, stream);
  return { site: await openSite({ clock, logger }), clock, levels };
}

describe.each([webSocketTransport, mqttTransport])("two boards of one identity over $name", (transport) => {
  it("[DEV-10] cause a warning when they keep displacing each other, unlike a single restart", async () => {
    const { site, clock, levels } = await openWatched();
    let last = await site.join({ transport });
    const takeOver = async () => {
      const next = await site.join({ transport });
      await last.wire.ended;
      last = next;
    };
    for (let times = 0; times < 3; times += 1) await takeOver();
    expect(levels).toEqual(["info", "info", "info"]);
    await takeOver();
    expect(levels.slice(3)).toEqual(["warn"]);
    clock.advance(300_000);
    levels.length = 0;
    last = await site.join({ transport });
    await takeOver();
    expect(levels.at(-1)).toBe("info");
  });
});
