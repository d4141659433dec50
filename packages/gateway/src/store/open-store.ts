import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { StartError } from "../errors.ts";

import { AuditEntries } from "./audit-entries.ts";
import { Buffers } from "./buffers.ts";
import { Calls } from "./calls.ts";
import { openDataFolder } from "./data-folder.ts";
import { DeviceGroups, type DeviceWrite } from "./device-group.ts";
import { durableParts, type StoreTransaction } from "./durable-parts.ts";
import type { Engine } from "./engine.ts";

import { Health, type OnProblem } from "./health.ts";
import { HttpDevices } from "./http-devices.ts";
import { Jobs } from "./jobs.ts";
import { SettingLeases, type StoredLeases } from "./leases.ts";
import { Presence } from "./presence.ts";
import { Prober } from "./prober.ts";
import { QueuedCalls } from "./queued-calls.ts";
import { defaultRules, Retention, type RetentionRules } from "./retention.ts";
import { retryUntilAvailable } from "./retry-until-available.ts";
import { updateSchema } from "./schema.ts";
import { openSqlite } from "./sqlite-engine.ts";
import { StoreError } from "./store-error.ts";
import { StoredEvents } from "./stored-events.ts";
import { WebhookDeliveries } from "./webhook-deliveries.ts";
import { Webhooks } from "./webhooks.ts";

export interface StoreSettings {
  /** `sqlite:` (the default) for a file in the data folder, or `postgres://…`. */
  readonly url?: string | undefined;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly onProblem: OnProblem;
  readonly retention?: Partial<RetentionRules> | undefined;
  /** How long the start waits for a database that does not answer; 30 s by default. */
  readonly connectTimeoutMs?: number | undefined;
  /** Ends that wait. */
  readonly signal?: AbortSignal | undefined;
}

export interface StoreState {
  readonly kind: Engine["kind"];
  /** Whether the last statement got no answer. */
  readonly unavailable: boolean;
  readonly waitingRows: number;
  readonly lostRows: number;
}

const closeMs = 2_000;
/** How far back a webhook can be replayed. */
const replayMs = 24 * 60 * 60_000;
/** A job ends when its last queued call has ended or expired. Its results stay for a day. */
const jobMs = limits.waitingCallMs.max + 24 * 60 * 60_000;

export class Store implements StoreTransaction {
  readonly devices: StoreTransaction["devices"];
  readonly toolLists: StoreTransaction["toolLists"];
  readonly toolPins: StoreTransaction["toolPins"];
  readonly names: StoreTransaction["names"];
  readonly tokens: StoreTransaction["tokens"];
  readonly approvals: StoreTransaction["approvals"];
  readonly pairings: StoreTransaction["pairings"];
  readonly imports: StoreTransaction["imports"];
  readonly firmware: StoreTransaction["firmware"];
  readonly firmwareUpdates: StoreTransaction["firmwareUpdates"];
  readonly idempotencyRecords: StoreTransaction["idempotencyRecords"];
  readonly settings: StoreTransaction["settings"];
  readonly voiceAccounts: StoreTransaction["voiceAccounts"];
  readonly consoleSessions: StoreTransaction["consoleSessions"];
  readonly signInCodes: StoreTransaction["signInCodes"];
  readonly audit: AuditEntries;
  readonly webhooks: Webhooks;
  readonly httpDevices: HttpDevices;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly queuedCalls: QueuedCalls;
  readonly jobs: Jobs;
  /** These three are buffered and written soon after. The rest of the store waits for the disk. */
  readonly calls: Calls;
  readonly events: StoredEvents;
  readonly presence: Presence;
  readonly #deviceGroups: DeviceGroups;
  readonly #buffers: Buffers;
  readonly #engine: Engine;
  readonly #health: Health;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #prober: Prober;

  constructor(engine: Engine, health: Health, settings: StoreSettings) {
    const { clock, onProblem } = settings;
    const parts = durableParts(engine.db, clock);
    this.devices = parts.devices;
    this.toolLists = parts.toolLists;
    this.toolPins = parts.toolPins;
    this.names = parts.names;
    this.tokens = parts.tokens;
    this.approvals = parts.approvals;
    this.pairings = parts.pairings;
    this.imports = parts.imports;
    this.firmware = parts.firmware;
    this.firmwareUpdates = parts.firmwareUpdates;
    this.idempotencyRecords = parts.idempotencyRecords;
    this.settings = parts.settings;
    this.voiceAccounts = parts.voiceAccounts;
    this.consoleSessions = parts.consoleSessions;
    this.webhooks = new Webhooks(engine.db);
    this.httpDevices = new HttpDevices(engine.db);
    this.webhookDeliveries = new WebhookDeliveries(engine.db);
    this.queuedCalls = new QueuedCalls(engine.db);
    this.jobs = new Jobs(engine.db);
    this.#deviceGroups = new DeviceGroups(clock);
    this.signInCodes = parts.signInCodes;
    this.#buffers = new Buffers(clock, onProblem);
    this.audit = new AuditEntries(engine, this.#buffers);
    this.calls = new Calls(engine, this.#buffers);
    this.events = new StoredEvents(engine, this.#buffers);
    this.presence = new Presence(engine, this.#buffers);
    this.#engine = engine;
    this.#health = health;
    this.#clock = clock;
    this.#prober = new Prober(health, () => this.ping(), clock);
    const rules = { ...defaultRules, ...settings.retention };
    this.#retention = new Retention(
      new Map([
        ["calls", (limit) => this.calls.prune(clock.now() - rules.callsForMs, rules.calls, limit)],
        ["queued calls", (limit) => this.queuedCalls.prune(clock.now() - rules.callsForMs, limit)],
        ["jobs", (limit) => this.jobs.prune(clock.now() - jobMs, limit)],
        ["events", (limit) => this.events.prune(clock.now() - rules.eventsForMs, rules.events, limit)],
        ["audit", (limit) => this.audit.prune(clock.now() - rules.auditForMs, limit)],
        [
          "webhook deliveries",
          (limit) => this.webhookDeliveries.prune(clock.now() - replayMs, rules.deliveries, limit),
        ],
        ["approvals", (limit) => this.approvals.pruneOld(limit)],
        ["pairings", (limit) => this.pairings.pruneOld(limit)],
        ["idempotency records", (limit) => this.idempotencyRecords.prune(limit)],
        ["sign-in codes", (limit) => this.signInCodes.prune(limit)],
        ["tool lists", (limit) => this.toolLists.pruneUnused(limit)],
      ]),
      clock,
      onProblem,
    );
  }

  /** Leases without a table of their own, as settings with this prefix. */
  leases(prefix: string): StoredLeases {
    return new SettingLeases(this.settings, prefix);
  }

  get state(): StoreState {
    const { waitingRows, lostRows } = this.#buffers;
    return { kind: this.#engine.kind, unavailable: this.#health.unavailable, waitingRows, lostRows };
  }

  /** Runs `work` in a transaction. It must use only `parts`, because the transaction holds SQLite's one connection. */
  async transaction<Result>(work: (parts: StoreTransaction) => Promise<Result>): Promise<Result> {
    return await this.#engine.db
      .transaction()
      .execute(async (tx) => await work(durableParts(tx, this.#clock)));
  }

  /**
   * Saves many devices in one transaction, with `also`. Returns the ids whose alias belongs to another device; these are
   * not saved.
   */
  async saveDevices(
    writes: readonly DeviceWrite[],
    also: (parts: StoreTransaction) => Promise<void>,
  ): Promise<ReadonlySet<string>> {
    return await this.#engine.db.transaction().execute(async (tx) => {
      const taken = await this.#deviceGroups.save(tx, writes);
      await also(durableParts(tx, this.#clock));
      return taken;
    });
  }

  /** Called when the database answers again. */
  onAvailable(listener: () => void): void {
    this.#health.onChange((state) => {
      if (state === "available") listener();
    });
  }

  /**
   * Checks that the database answers and accepts writes; rejects otherwise. Callers use it before they change
   * something in memory that must be stored too.
   */
  async ping(): Promise<void> {
    // While it is unavailable, a row is really written: a full disk accepts every statement except writes.
    const version = this.#health.unavailable ? 1 : 0;
    await this.#engine.db
      .updateTable("tendon_schema")
      .set((eb) => ({ name: eb.ref("name") }))
      .where("version", "=", version)
      .execute();
  }

  /** Writes all buffered rows. */
  async flush(): Promise<void> {
    await this.#buffers.flush();
  }

  /** Runs one step of retention. Returns the number of deleted rows. */
  async pruneOld(): Promise<number> {
    return await this.#retention.step();
  }

  /** Writes the buffered rows within a short time, and reports those that were lost. */
  async close(): Promise<void> {
    this.#prober.close();
    await this.#withTimeout(Promise.all([this.#retention.close(), this.#buffers.close()]), closeMs);
    this.#buffers.abandon();
    await this.#withTimeout(this.#engine.close(), closeMs / 2);
    this.#engine.terminate();
  }

  async #withTimeout(work: Promise<unknown>, ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      const done = () => {
        timer.cancel();
        resolve();
      };
      work.then(done, done);
    });
  }
}

export async function openStore(settings: StoreSettings): Promise<Store> {
  const health = new Health(settings.onProblem);
  const engine = await openEngine(settings, health);
  try {
    await retryUntilAvailable(settings, async () => await updateSchema(engine, settings.clock));
  } catch (error) {
    const closed = engine.close();
    engine.terminate();
    await closed;
    if (!(error instanceof StoreError)) throw error;
    throw new StartError(
      `The storage at ${engine.location} cannot be used (${error.reason}). Check the \`storage\` setting and the database.`,
    );
  }
  return new Store(engine, health, settings);
}

async function openEngine(
  { url = "sqlite:", dataFolder, clock }: StoreSettings,
  health: Health,
): Promise<Engine> {
  if (url === "sqlite:") return await openSqlite(openDataFolder(dataFolder), health, clock);
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Loaded on demand, because most gateways use SQLite.
    const { openPostgres } = await import("./postgres-engine.ts");
    return openPostgres(url, health);
  }
  throw new StartError("`storage` must be `sqlite:` or begin with `postgres://`.");
}
