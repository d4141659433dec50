/**
 * What boards sign in with at their voice servers, where those give it by their own OTA address [VOI-11]. Asked for
 * when a board boots and when it talks; kept sealed, so that a restart here or a pause there costs nobody the talk.
 */
import { createHash } from "node:crypto";
import { isObject, parseJson } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { OtaIdentity, UpstreamActivation } from "../provisioning/provisioning.ts";
import type { UpstreamOta, UpstreamSettings } from "./upstream-ota.ts";

/** Where sealed accounts are kept, by device; opens them as well. */
export interface AccountShelf {
  read(deviceId: string): Promise<string | undefined>;
  write(deviceId: string, account: string): Promise<void>;
}

interface Account extends UpstreamSettings {
  /** Whose it is: another board under the same id gets its own. */
  readonly owner: string;
  readonly ota: string;
  readonly at: number;
}

/** The board has to be activated at its voice server first; the code is for the person in front of it. */
export class NotActivated extends Error {
  readonly code: string | undefined;

  constructor(code: string | undefined) {
    super("the board has to be activated at its voice server");
    this.name = "NotActivated";
    this.code = code;
  }
}

/** Tokens of voice servers last a day or longer. */
const freshMs = 12 * 3_600_000;
const mostWaiting = 10_000;

export class VoiceAccounts {
  readonly #clock: Clock;
  readonly #ota: UpstreamOta;
  readonly #shelf: AccountShelf;
  /** Boards that show a code of their voice server now. */
  readonly #waiting = new Set<string>();

  constructor(clock: Clock, ota: UpstreamOta, shelf: AccountShelf) {
    this.#clock = clock;
    this.#ota = ota;
    this.#shelf = shelf;
  }

  /** For a board that wants to talk. `renewed`: what is known has just been refused. */
  async settingsFor(ota: string, identity: OtaIdentity, renewed: boolean): Promise<UpstreamSettings> {
    const known = await this.#known(ota, identity);
    const age = known === undefined ? freshMs : this.#clock.now() - known.at;
    if (known !== undefined && !renewed && age < freshMs) return known;
    try {
      const { settings, activation } = await this.#ask(ota, identity);
      if (settings !== undefined) return settings;
      if (activation !== undefined) throw new NotActivated(activation.code);
      throw new TendonError("device_error", "the voice server's OTA address gives no WebSocket address");
    } catch (error) {
      // Old is better than none, unless it has just been refused.
      if (known !== undefined && !renewed && error instanceof TendonError) return known;
      throw error;
    }
  }

  /** For a board that boots: whether its voice server wants it to be activated first. */
  async activationFor(ota: string, identity: OtaIdentity): Promise<UpstreamActivation | undefined> {
    const { activation } = await this.#ask(ota, identity);
    this.#waiting.delete(identity.deviceId);
    if (activation !== undefined && this.#waiting.size < mostWaiting) this.#waiting.add(identity.deviceId);
    return activation;
  }

  /** Passes on the board's question whether it is activated; a board that shows no code of the server's is. */
  async activate(ota: string, identity: OtaIdentity): Promise<boolean> {
    if (!this.#waiting.has(identity.deviceId)) return true;
    const done = await this.#ota.activate(ota, identity);
    if (done) this.#waiting.delete(identity.deviceId);
    return done;
  }

  async #ask(ota: string, identity: OtaIdentity) {
    const answer = await this.#ota.ask(ota, identity);
    const { settings } = answer;
    if (settings !== undefined && answer.activation === undefined) {
      const account: Account = { ...settings, ota, owner: ownerOf(identity), at: this.#clock.now() };
      await this.#shelf.write(identity.deviceId, JSON.stringify(account));
    }
    return answer;
  }

  async #known(ota: string, identity: OtaIdentity): Promise<Account | undefined> {
    const text = await this.#shelf.read(identity.deviceId);
    const account = text === undefined ? undefined : parseJson(text);
    if (!isObject(account) || account["ota"] !== ota || account["owner"] !== ownerOf(identity))
      return undefined;
    return account as unknown as Account;
  }
}

function ownerOf({ clientId }: OtaIdentity): string {
  return createHash("sha256").update(clientId).digest("hex");
}
