/** The gateway against each fault of the simulated broker of a voice agent, and what the broker does without any. */
import { type BrokerEvent, brokerFaults, EndpointBroker } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { type Fields, type RawDevice, textContent, tool } from "../raw-device.ts";
import { openSite, type Site } from "../site.ts";
import { inState } from "./outgoing-state.ts";

type Fault = keyof typeof brokerFaults;

interface Opened {
  readonly broker: EndpointBroker;
  readonly clock: ManualClock;
  readonly events: BrokerEvent[];
  /** Another gateway with the same address, and one board. */
  gateway(deviceId?: string): Promise<{ readonly site: Site; readonly device: RawDevice }>;
}

async function open(...faults: Fault[]): Promise<Opened> {
  const clock = new ManualClock(Date.now());
  const events: BrokerEvent[] = [];
  const broker = await EndpointBroker.start({ clock, faults, onEvent: (event) => events.push(event) });
  onTestFinished(() => broker.stop());
  const gateway = async (deviceId = "02:00:00:00:00:01") => {
    const endpoints = [{ url: broker.url, token: "voice", view: "flat" }];
    const site = await openSite({ clock, config: { agents: { endpoints } } });
    const device = await site.join({ deviceId, tools: [tool("self.lamp.on")] });
    await site.rest("POST", "/tokens", { name: "voice", scopes: ["read", "call"] });
    return { site, device };
  };
  return { broker, clock, events, gateway };
}

async function lampOf({ broker }: Opened): Promise<string> {
  return await until(() => broker.tools.find((name) => name.endsWith("__lamp_on")), "the tool");
}

async function works(opened: Opened, device: RawDevice): Promise<void> {
  const answer = opened.broker.call(await lampOf(opened), {});
  device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
  expect(await answer).toEqual({ text: "on", failed: false });
}

/** Lets time pass in steps, so that pings and pongs pass too. */
async function pass({ clock }: Opened, site: Site, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5_000) {
    clock.advance(5_000);
    await site.rest("GET", "/endpoints");
  }
}

const connections = ({ events }: Opened) => events.filter(({ kind }) => kind === "connected").length;

const behaviour: Record<Fault, () => Promise<void>> = {
  "close-4004": async () => {
    const opened = await open("close-4004");
    const { site } = await opened.gateway();
    for (let connection = 1; connection <= 4; connection += 1) {
      await until(() => connections(opened) === connection, "the connection");
      const { lastError } = await inState(site, "retrying");
      expect(lastError).toMatchObject({ message: "it closed the connection (4004: Internal server error)" });
      opened.clock.advance(72_000);
    }
  },
  replace: async () => {
    const opened = await open("replace");
    const first = await opened.gateway();
    await works(opened, first.device);
    const second = await opened.gateway("02:00:00:00:00:02");
    await inState(first.site, "replaced");
    await inState(second.site, "connected");
    // No fight: the second keeps the address.
    await pass(opened, second.site, 60_000);
    await inState(first.site, "replaced");
    await works(opened, second.device);
    expect(connections(opened)).toBe(2);
  },
  "string-ids": async () => {
    const opened = await open("string-ids");
    const { device } = await opened.gateway();
    await works(opened, device);
  },
  pipelined: async () => {
    const opened = await open("pipelined");
    const { device } = await opened.gateway();
    await works(opened, device);
  },
  noise: async () => {
    const opened = await open("noise");
    const { site, device } = await opened.gateway();
    await works(opened, device);
    expect(await site.metric('tendon_endpoint_frames_ignored_total{side="agent"}')).toBe(1);
  },
  "deadline-10s": async () => {
    const opened = await open("deadline-10s");
    const { site, device } = await opened.gateway();
    const answer = opened.broker.call(await lampOf(opened), {});
    const late = await device.nextRequest("tools/call");
    opened.clock.advance(10_000);
    expect(await answer).toEqual({
      text: "Tool call was aborted due to timeout (10000ms)",
      failed: true,
    });
    // The agent drops the late answer; the connection and the board stay usable.
    device.reply(late.id, textContent("on"));
    await works(opened, device);
    expect(await inState(site, "connected")).toMatchObject({ lastError: null });
  },
  "no-pong": async () => {
    const opened = await open("no-pong");
    const { site, device } = await opened.gateway();
    await works(opened, device);
    // Its own pings every 30 s are signs of life.
    await pass(opened, site, 120_000);
    await works(opened, device);
    expect(connections(opened)).toBe(1);
  },
  flood: async () => {
    const opened = await open("flood");
    const { site } = await opened.gateway();
    await lampOf(opened);
    await until(async () => {
      opened.clock.advance(100);
      const { body } = await site.rest("GET", "/endpoints");
      return (body["endpoints"] as Fields[])[0]?.["state"] === "retrying";
    }, "the end of the flood");
    expect(await inState(site, "retrying")).toMatchObject({
      lastError: { message: "it sent too many messages, so the gateway closed the connection" },
    });
    expect((await site.rest("GET", "/devices")).status).toBe(200);
  },
};

describe("the gateway at a simulated broker", () => {
  it.each(Object.keys(brokerFaults) as Fault[])("[END-6] copes with the fault %s", async (fault) => {
    await behaviour[fault]();
  });

  it("[END-1] is one of several tool servers with the same address, and their tools are merged", async () => {
    const opened = await open();
    const first = await opened.gateway();
    const second = await opened.gateway("02:00:00:00:00:02");
    const names = () => opened.broker.tools.filter((name) => name.endsWith("__lamp_on"));
    const [one = "", two = ""] = await until(() => names().length === 2 && names(), "both lamps");
    for (const [name, { device }] of [
      [one, first],
      [two, second],
    ] as const) {
      const answer = opened.broker.call(name, {});
      device.reply((await device.nextRequest("tools/call")).id, textContent("on"));
      expect(await answer).toEqual({ text: "on", failed: false });
    }
    for (const { site } of [first, second]) await inState(site, "connected");
  });

  it("[END-1] answers a long call before the hosted service gives up after 300 s", async () => {
    const opened = await open();
    const { site, device } = await opened.gateway();
    await lampOf(opened);
    const args = { device: device.id, tool: "self.lamp.on", timeoutMs: 300_000 };
    const answer = opened.broker.call("device_call", args);
    await device.nextRequest("tools/call");
    await pass(opened, site, 290_000);
    const { text, failed } = await answer;
    expect([text.startsWith("device_timeout: "), failed]).toEqual([true, true]);
    await inState(site, "connected");
  });

  it("[END-2] answers the broker's pings for an hour", async () => {
    const opened = await open();
    const { site, device } = await opened.gateway();
    await works(opened, device);
    await pass(opened, site, 3_600_000);
    await works(opened, device);
    expect(connections(opened)).toBe(1);
  });
});
