/** A fleet behind one router or load balancer: all of its connections end at once, and come back at once. */
import { afterAll, beforeAll, expect, it } from "vitest";
// @ts-expect-error: the bench is plain JavaScript.
import { Fleet } from "../bench/harness/fleet.mjs";
import { until } from "./inbox.ts";
import { type Site, startSite } from "./site.ts";
import { TurnMeter } from "./turn-meter.ts";

/** More than the system reports in one turn of the event loop without a limit of ours. */
const devices = 1_500;
const atOnce = 50;

let site: Site;
/** In processes of their own, so that their CPU time is not measured. */
let fleet: {
  provision(url: string, from: number, count: number): Promise<void>;
  connect(transport: string, target: object, from: number, count: number, atOnce?: number): Promise<unknown>;
  close(): Promise<void>;
  stop(): Promise<void>;
};

async function online(count: number): Promise<void> {
  await until(async () => (await site.metric("tendon_devices_online")) === count, `${count} devices online`);
}

beforeAll(async () => {
  site = await startSite();
  fleet = await Fleet.start();
  await fleet.provision(site.url, 0, devices);
  await fleet.connect("mqtt", {}, 0, devices, atOnce);
  await online(devices);
});
afterAll(async () => {
  await fleet.stop();
  await site.stop();
});

it("[MQT-14] ends and opens connections in many turns of the event loop", async () => {
  const ending = new TurnMeter();
  await fleet.close();
  await online(0);
  expect(ending.stop()).toBeLessThan(0.35);

  const opening = new TurnMeter();
  await fleet.connect("mqtt", {}, 0, devices);
  await online(devices);
  expect(opening.stop()).toBeLessThan(0.07);
});
