/**
 * A site of three gateways for the scenarios: devices connect to the first, calls and changes go to the second, and reads
 * go to the third. Scenarios without special options share the nodes, one after the other.
 */
import type { Clock } from "@tendon/gateway";
import { afterAll, onTestFinished } from "vitest";
import { type Answer, askAll } from "../http-client.ts";
import { until } from "../inbox.ts";
import { ManualClock } from "../manual-clock.ts";
import { Site, type SiteOptions, startSite } from "../site.ts";
import type { DeviceTransport } from "../transport.ts";
import { atOnce, Engines } from "./nodes.ts";

type Three = readonly [Site, Site, Site];

export class ThreeNodes {
  readonly #engines = new Engines();
  /** The nodes of each configuration. The database server allows the connections of three configurations. */
  readonly #kept = new Map<string, Promise<Three>>();

  constructor() {
    afterAll(async () => {
      for (const three of this.#kept.values()) await stopAll(await three);
    });
  }

  /** Runs the scenarios of this transport on three nodes. */
  of(transport: DeviceTransport): DeviceTransport {
    return { ...transport, openSite: (options) => this.#open(options) };
  }

  async #open(options: SiteOptions): Promise<Site> {
    // A test with its own clock needs its own gateways.
    const { clock } = options;
    if (clock !== undefined) {
      const three = await this.#start(options);
      const site = new SpreadSite(three, await metricsOf(three));
      onTestFinished(async () => {
        await site.leave();
        let stopped = false;
        const stopping = stopAll(three).finally(() => {
          stopped = true;
        });
        // All stop at once, so some wait for replies of nodes that are already gone.
        await until(() => {
          if (clock instanceof ManualClock) clock.advance(100);
          return stopped;
        }, "the end of three nodes");
        await stopping;
      });
      return site;
    }
    const three = await this.#keep(options);
    const site = new SpreadSite(three, await metricsOf(three));
    onTestFinished(() => site.clear());
    return site;
  }

  async #keep(options: SiteOptions): Promise<Three> {
    const name = JSON.stringify(options.config ?? {});
    const known = this.#kept.get(name);
    if (known !== undefined) return await known;
    const started = this.#start(options);
    this.#kept.set(name, started);
    const [, second] = this.#kept.keys();
    if (this.#kept.size > 2 && second !== undefined) {
      const old = this.#kept.get(second);
      this.#kept.delete(second);
      if (old !== undefined) await stopAll(await old);
    }
    return await started;
  }

  async #start(options: SiteOptions): Promise<Three> {
    const { cluster, storage } = await this.#engines.newFleet();
    const { clock, ...rest } = options;
    const each = {
      ...rest,
      ...(clock === undefined ? {} : { clock: withShortWaits(clock) }),
      config: { drain: atOnce, ...options.config, cluster, storage },
    };
    // The first one creates the tables; the others start in parallel.
    const first = await startSite(each);
    const [second, third] = await Promise.all([1, 2].map(() => startSite(each)));
    if (second === undefined || third === undefined) throw new TypeError("three were started");
    const three = [first, second, third] as const;
    for (const site of three) {
      await until(async () => {
        const { body } = await site.rest("GET", "/nodes");
        return (body as { nodes: unknown[] }).nodes.length === three.length;
      }, "nodes that know one another");
    }
    return three;
  }
}

const shortMs = 10;

/** Batches of a few milliseconds between nodes do not wait for the scenario's manual clock. */
function withShortWaits(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    every: (ms, run) => clock.every(ms, run),
    after(ms, run) {
      if (ms > shortMs) return clock.after(ms, run);
      const timer = setTimeout(run, ms);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

class SpreadSite extends Site {
  readonly #holder: Site;
  readonly #entrance: Site;
  readonly #lookout: Site;
  readonly #before: ReadonlyMap<string, number>;

  constructor([holder, entrance, lookout]: Three, before: ReadonlyMap<string, number>) {
    super(lookout.tendon, lookout.folder);
    this.#holder = holder;
    this.#entrance = entrance;
    this.#lookout = lookout;
    this.#before = before;
  }

  get #all(): Three {
    return [this.#holder, this.#entrance, this.#lookout];
  }

  protected override get deviceUrl(): string {
    return this.#holder.url;
  }

  override async rest(...[method, ...rest]: Parameters<Site["rest"]>): Promise<Answer> {
    return await (method === "GET" ? this.#lookout : this.#entrance).rest(method, ...rest);
  }

  /** The sum over the nodes, since the start of this scenario. */
  override async metric(name: string): Promise<number> {
    const now = await metricsOf(this.#all);
    return (now.get(name) ?? 0) - (this.#before.get(name) ?? 0);
  }

  override async listed(reference: string): Promise<void> {
    for (const site of this.#all) await site.listed(reference);
  }

  /** Waits until every node knows of the device, before the scenario continues. */
  protected override async arrived(device: string): Promise<void> {
    const { connectedAt, mcp, online } = await this.#holder.device(device);
    for (const site of [this.#entrance, this.#lookout]) {
      await until(async () => {
        const seen = await site.device(device);
        return seen["online"] === online && seen["connectedAt"] === connectedAt && seen["mcp"] === mcp;
      }, "a device that every node knows of");
    }
  }

  /** Disconnects its devices, on every node. */
  async leave(): Promise<void> {
    this.hangUp();
    for (const site of this.#all) await none(site, "?online=true");
  }

  /** Removes everything before the next scenario. */
  async clear(): Promise<void> {
    await this.leave();
    for (const { id } of await devicesOf(this.#holder)) {
      const { status } = await this.#entrance.rest("DELETE", `/devices/${id}`);
      // A device that disconnected early may be known to one node only.
      if (status === 404) await this.#holder.rest("DELETE", `/devices/${id}`);
    }
    for (const site of this.#all) await none(site);
  }
}

async function none(site: Site, query?: string): Promise<void> {
  await until(async () => (await devicesOf(site, query)).length === 0, "a fleet without devices");
}

async function devicesOf(site: Site, query = ""): Promise<{ readonly id: string }[]> {
  const { body } = await site.rest("GET", `/devices${query}`);
  return body["devices"] as unknown as { id: string }[];
}

async function metricsOf(sites: readonly Site[]): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  const texts = await Promise.all(sites.map(({ url }) => askAll(url, { path: "/metrics" })));
  for (const line of texts.flatMap(({ text }) => text.split("\n"))) {
    const at = line.lastIndexOf(" ");
    const name = line.slice(0, at);
    if (at > 0 && !line.startsWith("#")) sums.set(name, (sums.get(name) ?? 0) + Number(line.slice(at + 1)));
  }
  return sums;
}

async function stopAll(sites: readonly Site[]): Promise<void> {
  await Promise.all(sites.map((site) => site.stop()));
}
