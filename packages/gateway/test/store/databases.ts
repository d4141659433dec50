/** Both kinds of databases: creates empty ones on request, and removes them afterwards. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { openSqliteFile } from "../../src/store/sqlite-library.ts";
import { openStore, type Store, type StoreProblem, type StoreSettings } from "../../src/store/store.ts";
import { placeMigratedFile } from "./migrated-file.ts";
import { PostgresServer } from "./postgres-server.ts";

export type Place = Pick<StoreSettings, "url" | "dataFolder">;

export interface OpenStore {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly problems: StoreProblem[];
  readonly place: Place;
}

export const kinds = ["sqlite", "postgres"] as const;

export class Databases {
  readonly #kind: (typeof kinds)[number];
  readonly #stores: Store[] = [];
  readonly #folders: string[] = [];
  #server: PostgresServer | undefined;

  constructor(kind: (typeof kinds)[number]) {
    this.#kind = kind;
    if (kind === "postgres") {
      beforeAll(async () => {
        this.#server = await PostgresServer.start();
      }, 60_000);
    }
    afterEach(async () => {
      await Promise.all(this.#stores.splice(0).map((store) => store.close()));
      for (const folder of this.#folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
    });
    afterAll(async () => {
      await this.#server?.remove();
    });
  }

  get server(): PostgresServer {
    if (this.#server === undefined) throw new TypeError("this test has no PostgreSQL");
    return this.#server;
  }

  /** An empty database. */
  async newPlace(): Promise<Place> {
    const dataFolder = this.#newFolder();
    return this.#kind === "sqlite" ? { dataFolder } : { dataFolder, url: await this.server.newDatabase() };
  }

  /** With the tables, because creating them takes longer than most tests. */
  async #migratedPlace(): Promise<Place> {
    const dataFolder = this.#newFolder();
    if (this.#kind === "postgres") return { dataFolder, url: await this.server.newStore() };
    await placeMigratedFile(dataFolder);
    return { dataFolder };
  }

  #newFolder(): string {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-store-"));
    this.#folders.push(folder);
    return folder;
  }

  /** The store at a place, or a new one without records. */
  async open(settings: Partial<StoreSettings> = {}): Promise<OpenStore> {
    const place = settings.dataFolder === undefined ? await this.#migratedPlace() : (settings as Place);
    const clock = new ManualClock();
    const problems: StoreProblem[] = [];
    const onProblem = (problem: StoreProblem) => problems.push(problem);
    const store = await openStore({ clock, onProblem, ...settings, ...place });
    this.#stores.push(store);
    return { store, clock, problems, place };
  }

  /** Direct access to the tables. */
  async query(place: Place, text: string): Promise<unknown[]> {
    if (place.url !== undefined) return await this.server.query(place.url, text);
    const database = openSqliteFile(path.join(place.dataFolder, "tendon.db"));
    try {
      return database.prepare(text).all();
    } finally {
      database.close();
    }
  }
}
