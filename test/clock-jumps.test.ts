/** The machine's wall clock is set forward or back while the gateway runs, as after a long sleep or the first NTP answer. */
import { describe, expect, it } from "vitest";
import { ManualClock } from "./manual-clock.ts";
import { textContent, tool } from "./raw-device.ts";
import { openSite } from "./site.ts";

const dayMs = 24 * 60 * 60_000;
const deadlineMs = 30_000;

/** Its wall clock can be set; durations and timers continue. */
class SettableClock extends ManualClock {
  #offset = 0;

  override now(): number {
    return super.now() + this.#offset;
  }

  set(by: number): void {
    this.#offset += by;
  }
}

describe.each([
  ["forward", 3 * dayMs],
  ["back", -3 * dayMs],
])("a clock that is set %s by three days", (_where, jump) => {
  async function joined() {
    const clock = new SettableClock(Date.now());
    const site = await openSite({ clock });
    const device = await site.join({ tools: [tool("a")] });
    return { clock, site, device };
  }

  it("ends no running call early, and none late", async () => {
    const { clock, site, device } = await joined();
    const first = site.call(device.id, "a", {}, { timeoutMs: deadlineMs });
    const request = await device.nextRequest("tools/call");
    clock.set(jump);
    clock.advance(deadlineMs - 1);
    device.reply(request.id, textContent("in time"));
    expect(await first).toMatchObject({ status: 200, body: { durationMs: deadlineMs - 1 } });
    const second = site.call(device.id, "a", {}, { timeoutMs: deadlineMs });
    await device.nextRequest("tools/call");
    clock.set(-jump);
    clock.advance(deadlineMs);
    expect(await second).toMatchObject({ status: 504, body: { code: "device_timeout" } });
  });

  it("disconnects no device, and its calls are in the history once, also between", async () => {
    const { clock, site, device } = await joined();
    const events = await site.events("?type=call.finished");
    const ids: unknown[] = [];
    for (const by of [0, jump, -jump]) {
      clock.set(by);
      clock.advance(1_000);
      const answer = site.call(device.id, "a");
      device.reply((await device.nextRequest("tools/call")).id, textContent("yes"));
      ids.push((await answer).body["callId"]);
    }
    expect(new Set(ids).size).toBe(3);
    expect((await site.device(device.id))["online"]).toBe(true);
    const { body } = await site.rest("GET", "/calls");
    const rows = (body["calls"] as { callId: string }[]).map(({ callId }) => callId);
    expect(rows.toSorted()).toEqual(ids.toSorted());
    const numbers: number[] = [];
    for (const id of ids) {
      const event = await events.next();
      expect(event.data["callId"]).toBe(id);
      numbers.push(Number(event.id?.split("-")[1]));
    }
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  });

  it("keeps tokens valid, and those with an end by the clock of the machine", async () => {
    const { clock, site } = await joined();
    const expiresAt = new Date(clock.now() + dayMs).toISOString();
    const limited = await site.rest("POST", "/tokens", { name: "limited", scopes: ["read"], expiresAt });
    const lasting = await site.rest("POST", "/tokens", { name: "lasting", scopes: ["read"] });
    clock.set(jump);
    const status = async ({ body }: typeof limited) =>
      (await site.rest("GET", "/devices", undefined, { authorization: `Bearer ${String(body["token"])}` }))
        .status;
    expect(await status(lasting)).toBe(200);
    expect(await status(limited)).toBe(jump > 0 ? 401 : 200);
  });
});
