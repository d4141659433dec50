import type { Clock } from "../clock.ts";
import { identifier } from "./codec.ts";
import type { Database } from "./engine.ts";

/** The boards' credentials for their voice servers. The caller encrypts them; the store cannot read them. */
export class VoiceAccounts {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async get(device: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom("tendon_voice_accounts")
      .select("sealed")
      .where("device", "=", device)
      .executeTakeFirst();
    return row?.sealed;
  }

  async set(device: string, sealed: string): Promise<void> {
    const rest = { sealed, changed_at: this.#clock.now() };
    await this.#db
      .insertInto("tendon_voice_accounts")
      .values({ device: identifier(device, "the device's id"), ...rest })
      .onConflict((conflict) => conflict.column("device").doUpdateSet(rest))
      .execute();
  }
}
