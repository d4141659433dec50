/**
 * MCP servers over HTTP as devices: those of the configuration, and those that people add. In a cluster one node holds
 * each, and another takes over when that node has stopped.
 */
import type { HttpDeviceRequest } from "@tendon/protocol";
import { limits } from "@tendon/protocol";
import { type Principal, requireEveryDevice, requireScope } from "../access/access.ts";
import type { Clock, Timer } from "../clock.ts";
import type { HttpDeviceEntry } from "../config/config.ts";
import { HttpDevice } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { headersProblem, serverAddressProblem } from "../server-headers.ts";
import type { HeldLeases, Store, StoredHttpDevice } from "../store/store.ts";

interface Seals {
  seal(device: string, value: Buffer): string;
  open(device: string, text: string): Buffer | undefined;
}

type DeviceParts = Omit<ConstructorParameters<typeof HttpDevice>[1], "onProblem" | "mayConnect">;

export interface HttpDevicesDependencies extends DeviceParts {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Pick<Store, "httpDevices">;
  readonly seals: Seals;
  /** The servers of the configuration, with the headers of their files. */
  readonly configured: readonly (HttpDeviceEntry & { readonly headers: Readonly<Record<string, string>> })[];
  readonly leases: HeldLeases;
  /** Whether other nodes may hold devices, too. */
  readonly isShared: boolean;
  /** Adds the record of the device before it connects, on every node, with the default deadline of its calls. */
  readonly expect: (id: string, timeoutMs: number | undefined) => void;
  /** Whether no device has this id or alias. */
  readonly isFree: (alias: string) => boolean;
}

interface Server {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What people see of a server beside the device: never its headers or the rest of its address. */
export interface ServerView {
  readonly origin: string;
  readonly configured: boolean;
  readonly problem: string | null;
}

/** With the time until a dead node is noticed, another one takes over within 15 s. */
const claimEveryMs = 3_000;
const takenOver = "another node has taken the device over";

export class HttpDevices {
  readonly #dependencies: HttpDevicesDependencies;
  readonly #configured: ReadonlyMap<string, Server & { readonly timeoutMs: number | undefined }>;
  readonly #held = new Map<string, HttpDevice>();
  readonly #timer: Timer | undefined;
  /** Changes run one after the other. */
  #changing: Promise<void> = Promise.resolve();
  #notifyOthers: (id: string) => Promise<void> = async () => {};
  #stopped = false;

  private constructor(dependencies: HttpDevicesDependencies) {
    this.#dependencies = dependencies;
    const { clock, configured, isShared } = dependencies;
    this.#configured = new Map(
      configured.map(({ alias, url, headers, timeoutMs }) => [alias, { url, headers, timeoutMs }]),
    );
    if (isShared) this.#timer = clock.every(claimEveryMs, () => void this.claimAll());
  }

  /** Connects in the background: a server that is away never delays the start. */
  static async open(dependencies: HttpDevicesDependencies): Promise<HttpDevices> {
    const devices = new HttpDevices(dependencies);
    const { store, clock, isShared } = dependencies;
    const stored = new Set((await store.httpDevices.all()).map(({ id }) => id));
    for (const id of devices.#configured.keys())
      if (!stored.has(id)) await store.httpDevices.add(newRow(id, clock.now(), "the configuration"));
    for (const row of await store.httpDevices.all()) devices.#expect(row);
    // A node of a cluster first has to learn which other nodes live.
    if (!isShared) await devices.claimAll();
    return devices;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#changing;
    await Promise.all(
      [...this.#held].map(async ([id, device]) => {
        await device.stop("the gateway is stopping");
        await this.#dependencies.leases.release(id);
      }),
    );
    this.#held.clear();
  }

  /** Sets the function that notifies the other nodes of a new or deleted server. */
  shareWith(notify: (id: string) => Promise<void>): void {
    this.#notifyOthers = notify;
    void this.claimAll();
  }

  /** Claims every server that no live node holds, and drops those that another node has claimed. */
  claimAll(): Promise<void> {
    return this.#serially(async () => {
      const rows = await this.#dependencies.store.httpDevices.all();
      const known = new Set(rows.map(({ id }) => id));
      for (const id of this.#held.keys()) if (!known.has(id)) await this.#deleted(id);
      for (const row of rows) await this.#apply(row);
    }).catch(() => undefined);
  }

  /** Applies a change that another node has made. */
  reload(id: string): Promise<void> {
    return this.#serially(async () => {
      const row = await this.#dependencies.store.httpDevices.get(id);
      if (row === undefined) await this.#deleted(id);
      else await this.#apply(row);
    });
  }

  async add(principal: Principal, { alias, url, headers = {}, timeoutMs }: HttpDeviceRequest): Promise<void> {
    requireScope(principal, "admin");
    requireEveryDevice(principal, "MCP servers");
    const address = serverAddressProblem(url);
    if (address !== undefined) throw new TendonError("bad_request", `/url ${address}`);
    const problem = headersProblem(headers);
    if (problem !== undefined) throw new TendonError("bad_request", `/headers ${problem}`);
    const { store, seals, clock, isFree } = this.#dependencies;
    if (!isFree(alias) || this.#configured.has(alias)) throw aliasTaken(alias);
    const rows = await store.httpDevices.all();
    if (rows.length >= limits.httpDevices.max)
      throw new TendonError("conflict", `there are ${rows.length} MCP servers already; delete one first`);
    const sealed = Object.keys(headers).length === 0 ? undefined : Buffer.from(JSON.stringify(headers));
    const added = await store.httpDevices.add({
      ...newRow(alias, clock.now(), principal.name),
      url: new URL(url).href,
      headers: sealed === undefined ? undefined : seals.seal(alias, sealed),
      timeoutMs,
    });
    if (!added) throw aliasTaken(alias);
    await this.reload(alias);
    await this.#notifyOthers(alias);
  }

  /** Before the device is deleted: ends its connection on every node. */
  async remove(principal: Principal, id: string): Promise<void> {
    requireScope(principal, "admin");
    if (this.#configured.has(id))
      throw new TendonError(
        "conflict",
        "this device is in the configuration; remove it from tendon.yaml, restart the gateway, then delete it",
      );
    await this.#dependencies.store.httpDevices.remove(id);
    await this.reload(id);
    await this.#notifyOthers(id);
  }

  async view(id: string): Promise<ServerView | undefined> {
    const row = await this.#dependencies.store.httpDevices.get(id);
    if (row === undefined) return undefined;
    const url = this.#configured.get(id)?.url ?? row.url;
    return {
      origin: url === undefined ? "" : new URL(url).origin,
      configured: this.#configured.has(id),
      problem: row.problem ?? null,
    };
  }

  #serially(work: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(async () => {
      if (!this.#stopped) await work();
    });
    this.#changing = done.catch(() => undefined);
    return done;
  }

  #expect({ id, timeoutMs }: StoredHttpDevice): void {
    this.#dependencies.expect(id, this.#configured.get(id)?.timeoutMs ?? timeoutMs);
  }

  async #apply(row: StoredHttpDevice): Promise<void> {
    const { leases, store } = this.#dependencies;
    this.#expect(row);
    const server = this.#serverOf(row);
    if (server === undefined) return;
    const holding = await leases.check(row.id, row);
    if (holding !== "held") await this.#drop(row.id, takenOver);
    if (holding !== "held" || this.#held.has(row.id)) return;
    if (row.problem !== undefined) await store.httpDevices.setProblem(row.id, undefined);
    const device = new HttpDevice(
      { alias: row.id, ...server },
      {
        ...this.#dependencies,
        onProblem: (problem) => void store.httpDevices.setProblem(row.id, problem).catch(() => undefined),
        mayConnect: () => this.#stillHolds(row.id),
      },
    );
    this.#held.set(row.id, device);
    device.start();
  }

  /** Without the database a node keeps what it holds. */
  async #stillHolds(id: string): Promise<boolean> {
    const holding = await this.#dependencies.leases.check(id).catch(() => "held" as const);
    if (holding === "held") return true;
    void this.#serially(() => this.#drop(id, takenOver)).catch(() => undefined);
    return false;
  }

  async #deleted(id: string): Promise<void> {
    this.#dependencies.leases.forget(id);
    await this.#drop(id, "the device was deleted");
  }

  async #drop(id: string, reason: string): Promise<void> {
    const device = this.#held.get(id);
    this.#held.delete(id);
    await device?.stop(reason);
  }

  /** `undefined` for a server that is no longer in the configuration, or whose headers cannot be read. */
  #serverOf({ id, url, headers }: StoredHttpDevice): Server | undefined {
    const configured = this.#configured.get(id);
    if (configured !== undefined || url === undefined) return configured;
    if (headers === undefined) return { url, headers: {} };
    const opened = this.#dependencies.seals.open(id, headers);
    if (opened === undefined) {
      const problem =
        "the headers cannot be decrypted, because the gateway's own secret has changed; delete the device and add it again";
      void this.#dependencies.store.httpDevices.setProblem(id, problem).catch(() => undefined);
      return undefined;
    }
    return { url, headers: JSON.parse(opened.toString()) as Record<string, string> };
  }
}

function newRow(id: string, createdAt: number, createdBy: string): StoredHttpDevice {
  return {
    id,
    url: undefined,
    headers: undefined,
    timeoutMs: undefined,
    createdAt,
    createdBy,
    owner: undefined,
    epoch: 0,
    problem: undefined,
  };
}

function aliasTaken(alias: string): TendonError {
  return new TendonError("conflict", `\`${alias}\` is the id or alias of another device`);
}
