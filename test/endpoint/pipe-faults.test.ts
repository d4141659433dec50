/** The gateway's endpoint against each fault of the simulated pipe of a tool provider, and what the pipe does without any. */
import { McpPipe, type PipeEvent, pipeFaults } from "@tendon/simulator";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { openSite, type Site } from "../site.ts";
import { makeToken, providerUrl } from "./provider.ts";

type Fault = keyof typeof pipeFaults;

interface Opened {
  readonly site: Site;
  readonly clock: ManualClock;
  readonly events: PipeEvent[];
}

async function open(...faults: Fault[]): Promise<Opened> {
  const clock = new ManualClock(Date.now());
  const site = await openSite({ clock, config: { endpoint: { enabled: true } } });
  const events: PipeEvent[] = [];
  const url = providerUrl(site, await makeToken(site)).replace(/^http/, "ws");
  const pipe = new McpPipe({ url, clock, faults, onEvent: (event) => events.push(event) });
  pipe.start();
  onTestFinished(() => pipe.stop());
  return { site, clock, events };
}

async function online({ site }: Opened, state = true): Promise<void> {
  const is = async () => (await site.device("calculator"))["online"] === state;
  await until(is, state ? "online" : "offline");
}

async function works({ site }: Opened): Promise<void> {
  const { body } = await site.call("calculator", "add", { a: 2, b: 3 });
  expect(body["result"]).toMatchObject({ content: [{ text: "5" }] });
}

/** Lets time pass in steps, so that pings and answers pass too. */
async function pass({ clock, site }: Opened, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10_000) {
    clock.advance(10_000);
    await site.rest("GET", "/devices");
  }
}

async function disconnected(
  { events }: Opened,
  count: number,
): Promise<Extract<PipeEvent, { code: number }>> {
  const ends = () => events.filter((event) => event.kind === "disconnected");
  return await until(() => ends()[count - 1], "the disconnection");
}

const behaviour: Record<Fault, () => Promise<void>> = {
  noise: async () => {
    const opened = await open("noise");
    await online(opened);
    await works(opened);
    const ignored = await opened.site.metric('tendon_endpoint_frames_ignored_total{side="provider"}');
    // At the start, and before the answers to initialize, tools/list and the call.
    expect(ignored).toBe(4);
  },
  "dead-child": async () => {
    const opened = await open("dead-child");
    await online(opened);
    await works(opened);
    await pass(opened, 90_000);
    expect((await disconnected(opened, 1)).code).toBe(1011);
    await online(opened, false);
    // The pipe starts its program again.
    opened.clock.advance(1_000);
    await online(opened);
    await works(opened);
  },
  "slow-start": async () => {
    const opened = await open("slow-start");
    await until(() => opened.clock.requested.includes(20_000), "the program");
    expect((await opened.site.rest("GET", "/devices/calculator")).status).toBe(404);
    await pass(opened, 20_000);
    await online(opened);
    await works(opened);
  },
  "failed-start": async () => {
    const opened = await open("failed-start");
    expect((await disconnected(opened, 1)).code).toBe(1011);
    opened.clock.advance(1_000);
    expect((await disconnected(opened, 2)).code).toBe(1011);
    expect((await opened.site.rest("GET", "/devices/calculator")).status).toBe(404);
  },
  flood: async () => {
    const opened = await open("flood");
    await online(opened);
    const { code } = await until(() => {
      opened.clock.advance(100);
      return opened.events.find((event) => event.kind === "disconnected");
    }, "the end of the flood");
    expect(code).toBe(1008);
    await online(opened, false);
    expect((await opened.site.rest("GET", "/devices")).status).toBe(200);
  },
};

describe("the gateway with a simulated pipe", () => {
  it.each(Object.keys(pipeFaults) as Fault[])("[END-12] copes with the fault %s", async (fault) => {
    await behaviour[fault]();
  });

  it("[END-11] gets it back under its id, after pauses that double and never shrink", async () => {
    const opened = await open();
    for (const [at, pauseMs] of [1_000, 2_000, 4_000, 8_000].entries()) {
      await online(opened);
      // A long good life does not reset the pause.
      await pass(opened, 120_000);
      await works(opened);
      await opened.site.rest("DELETE", "/devices/calculator");
      expect(await disconnected(opened, at + 1)).toMatchObject({ againInMs: pauseMs });
      opened.clock.advance(pauseMs);
    }
    await online(opened);
    await works(opened);
  });

  it("[END-12] keeps it for an hour without a call", async () => {
    const opened = await open();
    await online(opened);
    await pass(opened, 3_600_000);
    await works(opened);
    expect(opened.events.filter(({ kind }) => kind === "connected")).toHaveLength(1);
  });
});
