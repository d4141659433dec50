import { type Clock, systemClock, type Timer } from "@tendon/gateway";
import { describe, expect, it } from "vitest";
import { until } from "../inbox.ts";
import { ask, mqttBoard, openUpstream, openVoiceSite, webSocketBoard } from "./voice-site.ts";

/** Sockets and ports that keep the process alive, by kind. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  const { TCPSocketWrap = 0, TCPServerWrap = 0, UDPWrap = 0 } = counts;
  return { TCPSocketWrap, TCPServerWrap, UDPWrap };
}

/** The system clock, with the origins of pending timers. */
class WatchedClock implements Clock {
  readonly #setBy = new Map<Timer, string>();

  now(): number {
    return systemClock.now();
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    const timer = systemClock.after(ms, () => {
      this.#setBy.delete(watched);
      run();
    });
    const watched = {
      cancel: () => {
        this.#setBy.delete(watched);
        timer.cancel();
      },
    };
    this.#setBy.set(watched, new Error("here").stack ?? "");
    return watched;
  }

  every(ms: number, run: () => void): Timer {
    return systemClock.every(ms, run);
  }

  ofVoice(): string[] {
    return [...this.#setBy.values()].filter((stack) => stack.includes("/gateway/src/voice/"));
  }
}

describe("when conversations are over", () => {
  it.each([
    [],
    ["refuse"],
    ["close-mid-sentence"],
    ["drop-mid-sentence"],
    ["garbage"],
    ["leave-before-hello"],
  ])("no socket, port or timer is left (%s)", async (fault?: string) => {
    const upstream = await openUpstream({ faults: fault === undefined ? [] : [fault] });
    const clock = new WatchedClock();
    const site = await openVoiceSite(upstream.server.url, { clock });
    await site.rest("GET", "/devices");
    await until(() => resources()["TCPSocketWrap"] === 0, "a quiet start");
    const before = resources();
    for (let round = 0; round < 6; round += 1) {
      const make = round % 2 === 0 ? webSocketBoard : mqttBoard;
      const device = make(site, { id: `02:00:00:00:0d:0${round}` });
      await device.connect();
      await device.openAudio();
      if (fault === undefined || fault === "garbage") {
        await ask(device, await upstream.connections.take());
      } else if (fault.endsWith("sentence")) {
        const told = device.waitFor("message", ({ type }) => type === "alert");
        const connection = await upstream.connections.take();
        await until(() => connection.listening, "the board to listen");
        await device.speak({ paceMs: 0 });
        await told;
      }
      await device.stop();
    }
    await until(() => clock.ofVoice().length === 0, "no timer");
    await until(() => JSON.stringify(resources()) === JSON.stringify(before), "what there was before");
    expect(resources()).toEqual(before);
    expect(upstream.server.connections.size).toBe(0);
  });
});
