/** Several real gateways on one real NATS and one real PostgreSQL. */
import { afterAll, beforeAll } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { NatsServer } from "../nats-server.ts";
import { openSite, Site, type SiteOptions, startSite } from "../site.ts";

export class Engines {
  #nats: NatsServer | undefined;
  #postgres: PostgresServer | undefined;
  #names = 0;

  constructor() {
    beforeAll(async () => {
      [this.#nats, this.#postgres] = await Promise.all([NatsServer.start(), PostgresServer.start()]);
    });
    afterAll(async () => {
      await Promise.all([this.#nats?.stop(), this.#postgres?.remove()]);
    });
  }

  get nats(): NatsServer {
    if (this.#nats === undefined) throw new TypeError("NATS is not started yet");
    return this.#nats;
  }

  get postgres(): PostgresServer {
    if (this.#postgres === undefined) throw new TypeError("PostgreSQL is not started yet");
    return this.#postgres;
  }

  /** A new fleet: a database and a cluster name on NATS. */
  async newFleet(): Promise<Fleet> {
    this.#names += 1;
    return new Fleet(`${this.nats.url}/fleet${this.#names}`, await this.postgres.newStore());
  }
}

/** No load balancer has to notice that a node of a test stops. */
export const atOnce = { readyDelayMs: 0, timeoutMs: 5_000 };

export class Fleet {
  readonly cluster: string;
  readonly storage: string;

  constructor(cluster: string, storage: string) {
    this.cluster = cluster;
    this.storage = storage;
  }

  async node(options: SiteOptions = {}): Promise<Site> {
    const { config = {}, ...rest } = options;
    const { cluster, storage } = this;
    return await openSite({ ...rest, config: { drain: atOnce, ...config, cluster, storage } });
  }

  /** Nodes that know each other. */
  async nodes(count: number, options: SiteOptions = {}): Promise<Site[]> {
    const sites: Site[] = [];
    for (let number = 0; number < count; number += 1) sites.push(await this.node(options));
    for (const site of sites) {
      await until(async () => {
        const { body } = await site.rest("GET", "/nodes");
        return (body as { nodes: unknown[] }).nodes.length === count;
      });
    }
    return sites;
  }
}

/** Starts a gateway whose settings name programs as devices. */
export type StartPrograms = (options: SiteOptions) => Promise<Site>;

/** Three nodes: agents connect to the first one, and the third one runs the programs. */
export class ProgramNodes {
  readonly #engines = new Engines();

  readonly start: StartPrograms = async (options) => {
    const { cluster, storage } = await this.#engines.newFleet();
    const config = { drain: atOnce, ...options.config, cluster, storage };
    const { stdio = [], ...devices } = config.devices ?? {};
    const entrance = await startSite({ ...options, config: { ...config, devices } });
    const others = await Promise.all([
      startSite({ ...options, config: { ...config, devices } }),
      startSite({ ...options, config: { ...config, devices: { ...devices, stdio } } }),
    ]);
    for (const { alias } of stdio)
      await until(async () => (await entrance.device(alias))["online"] === true, `${alias} at another node`);
    return new EntranceSite(entrance, others);
  };
}

class EntranceSite extends Site {
  readonly #others: readonly Site[];

  constructor({ tendon, folder }: Site, others: readonly Site[]) {
    super(tendon, folder);
    this.#others = others;
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), ...this.#others.map((site) => site.stop())]);
  }
}
