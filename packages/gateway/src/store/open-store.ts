import type { Clock } from "../clock.ts";
import { StartError } from "../errors.ts";

import { Buffers } from "./buffers.ts";
import { Calls } from "./calls.ts";
import { openDataFolder } from "./data-folder.ts";

import { durableParts, type StoreTransaction } from "./durable-parts.ts";
import type { Engine } from "./engine.ts";

import { Health, type OnProblem } from "./health.ts";

import { Presence } from "./presence.ts";
import { Prober } from "./prober.ts";
import { defaultRules, Retention, type RetentionRules } from "./retention.ts";
import { updateSchema } from "./schema.ts";

import { openSqlite } from "./sqlite-engine.ts";
import { StoreError } from "./store-error.ts";
import { StoredEvents } from "./stored-events.ts";
import { untilAnswering } from "./until-answering.ts";

export interface StoreSettings {
  /** `sqlite:` or nothing for a file in the data folder, or `postgres://…`. */
  readonly url?: string | undefined;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly onProblem: OnProblem;
  readonly retention?: Partial<RetentionRules> | undefined;
  /** How long a database that does not answer at the start is waited for; half a minute where it is left out. */
  readonly patienceMs?: number | undefined;
  /** Ends that wait. */
  readonly signal?: AbortSignal | undefined;
}

export interface StoreState {
  readonly kind: Engine["kind"];
  /** Whether the last statement found the database. */
  readonly away: boolean;
  readonly waitingRows: number;
  readonly lostRows: number;
}

const closeMs = 2_000;

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
  readonly firstAnswers: StoreTransaction["firstAnswers"];
  readonly settings: StoreTransaction["settings"];
  readonly voiceAccounts: StoreTransaction["voiceAccounts"];
  readonly consoleSessions: StoreTransaction["consoleSessions"];
  /** Written a moment after they are handed over; the rest of the store waits for the disk. */
  readonly calls: Calls;
  readonly events: StoredEvents;
  readonly presence: Presence;
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
    this.firstAnswers = parts.firstAnswers;
    this.settings = parts.settings;
    this.voiceAccounts = parts.voiceAccounts;
    this.consoleSessions = parts.consoleSessions;
    this.#buffers = new Buffers(clock, onProblem);
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
        ["calls", (limit) => this.calls.forget(clock.now() - rules.callsForMs, rules.calls, limit)],
        ["events", (limit) => this.events.forget(clock.now() - rules.eventsForMs, rules.events, limit)],
        ["approvals", (limit) => this.approvals.forgetOld(limit)],
        ["pairings", (limit) => this.pairings.forgetOld(limit)],
        ["first answers", (limit) => this.firstAnswers.forget(limit)],
        ["tool lists", (limit) => this.toolLists.forgetUnused(limit)],
      ]),
      clock,
      onProblem,
    );
  }

  get state(): StoreState {
    const { waitingRows, lostRows } = this.#buffers;
    return { kind: this.#engine.kind, away: this.#health.away, waitingRows, lostRows };
  }

  /** All or nothing. Inside, only what is handed in may be used: SQLite has one connection, and it is taken. */
  async transaction<Result>(work: (parts: StoreTransaction) => Promise<Result>): Promise<Result> {
    return await this.#engine.db
      .transaction()
      .execute(async (tx) => await work(durableParts(tx, this.#clock)));
  }

  /** Told when the database answers again. */
  onBack(listener: () => void): void {
    this.#health.onChange((state) => {
      if (state === "back") listener();
    });
  }

  /**
   * Whether the database answers, and would take a word; rejects when there is no answer in time. Asked before
   * something is changed in memory that has to be written down as well.
   */
  async ping(): Promise<void> {
    // While it is away a word is really written: a full disk takes everything but that.
    const version = this.#health.away ? 1 : 0;
    await this.#engine.db
      .updateTable("tendon_schema")
      .set((eb) => ({ name: eb.ref("name") }))
      .where("version", "=", version)
      .execute();
  }

  /** Writes everything that waits. */
  async flush(): Promise<void> {
    await this.#buffers.flush();
  }

  /** One step of retention now; says how many rows went. */
  async forgetOld(): Promise<number> {
    return await this.#retention.step();
  }

  /** Writes what waits, as far as that is possible in a short time, and says what was not. */
  async close(): Promise<void> {
    this.#prober.close();
    await this.#inTime(Promise.all([this.#retention.close(), this.#buffers.close()]), closeMs);
    this.#buffers.abandon();
    await this.#inTime(this.#engine.close(), closeMs / 2);
    this.#engine.cut();
  }

  async #inTime(work: Promise<unknown>, ms: number): Promise<void> {
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
    await untilAnswering(settings, async () => await updateSchema(engine, settings.clock));
  } catch (error) {
    const closed = engine.close();
    engine.cut();
    await closed;
    if (!(error instanceof StoreError)) throw error;
    throw new StartError(`The storage at ${engine.place} cannot be used (${error.said}).`);
  }
  return new Store(engine, health, settings);
}

async function openEngine(
  { url = "sqlite:", dataFolder, clock }: StoreSettings,
  health: Health,
): Promise<Engine> {
  if (url === "sqlite:") return await openSqlite(openDataFolder(dataFolder), health, clock);
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Loaded only where it is used: most gateways never are.
    const { openPostgres } = await import("./postgres-engine.ts");
    return openPostgres(url, health);
  }
  throw new StartError("`storage` must be `sqlite:` or begin with `postgres://`.");
}
