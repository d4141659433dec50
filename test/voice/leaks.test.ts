import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ask, mqttBoard, openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

/** What keeps a process alive: sockets, ports and timers, by kind. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  const { TCPSocketWrap = 0, TCPServerWrap = 0, UDPWrap = 0, Timeout = 0 } = counts;
  return { TCPSocketWrap, TCPServerWrap, UDPWrap, Timeout };
}

function noMoreThan(now: Record<string, number>, before: Record<string, number>): boolean {
  return Object.entries(now).every(([kind, count]) => count <= (before[kind] ?? 0));
}

describe("when conversations are over", () => {
  it.each([
    [],
    ["refuse"],
    ["close-mid-sentence"],
    ["drop-mid-sentence"],
    ["garbage"],
    ["leave-before-hello"],
  ])("nothing of them is left: no socket, no port, no timer (%s)", async (fault?: string) => {
    const upstream = await openUpstream({ faults: fault === undefined ? [] : [fault] });
    const site = await openVoiceSite(upstream.server.url);
    await site.rest("GET", "/devices");
    await until(() => resources()["TCPSocketWrap"] === 0, "a quiet start");
    const before = resources();
    for (let round = 0; round < 6; round += 1) {
      const make = round % 2 === 0 ? webSocketBoard : mqttBoard;
      const device = make(site, { id: `02:00:00:00:0d:0${round}` });
      await device.connect();
      await device.openAudio();
      if (fault === undefined || fault === "garbage") {
        await ask(device, await upstream.visitors.take());
      } else if (fault.endsWith("sentence")) {
        const told = device.waitFor("message", ({ type }) => type === "alert");
        const visitor = await upstream.visitors.take();
        await until(() => visitor.listening, "the board to listen");
        await device.speak({ paceMs: 0 });
        await told;
      }
      await device.stop();
    }
    await until(() => noMoreThan(resources(), before), "what there was before");
    expect(noMoreThan(resources(), before)).toBe(true);
    expect(upstream.server.visitors.size).toBe(0);
  });
});
