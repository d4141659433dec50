/**
 * The boards' credentials for voice servers that issue them at their own OTA address [VOI-11]. The gateway requests
 * them when a board boots and when a conversation starts. They are stored encrypted, so that conversations work after
 * a restart and while the OTA address does not answer.
 */
import { createHash } from "node:crypto";
import { isObject, parseJson } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { OtaIdentity, UpstreamActivation } from "../provisioning/provisioning.ts";
import type { UpstreamOta, UpstreamSettings } from "./upstream-ota.ts";

/** Stores accounts encrypted, by device. */
export interface AccountStore {
  read(deviceId: string): Promise<string | undefined>;
  write(deviceId: string, account: string): Promise<void>;
}

interface Account extends UpstreamSettings {
  /** A digest of the Client-Id. Another board with the same Device-Id gets its own account. */
  readonly owner: string;
  readonly ota: string;
  readonly at: number;
}

/** The board must be activated at its voice server first. The board shows the code to its user. */
export class NotActivated extends Error {
  readonly code: string | undefined;

  constructor(code: string | undefined) {
    super("the board must be activated at its voice server");
    this.name = "NotActivated";
    this.code = code;
  }
}

/** Tokens of voice servers are valid for a day or longer. */
const freshMs = 12 * 3_600_000;
const maxWaiting = 10_000;

export class VoiceAccounts {
  readonly #clock: Clock;
  readonly #ota: UpstreamOta;
  readonly #store: AccountStore;
  /** Boards that show an activation code of their voice server. */
  readonly #waiting = new Set<string>();

  constructor(clock: Clock, ota: UpstreamOta, store: AccountStore) {
    this.#clock = clock;
    this.#ota = ota;
    this.#store = store;
  }

  /** For a board that starts a conversation. `renewed`: the voice server has just rejected the stored account. */
  async settingsFor(ota: string, identity: OtaIdentity, renewed: boolean): Promise<UpstreamSettings> {
    const known = await this.#known(ota, identity);
    const age = known === undefined ? freshMs : this.#clock.now() - known.at;
    if (known !== undefined && !renewed && age < freshMs) return known;
    try {
      const { settings, activation } = await this.#ask(ota, identity);
      if (settings !== undefined) return settings;
      if (activation !== undefined) throw new NotActivated(activation.code);
      throw new TendonError(
        "device_error",
        "the reply of the voice server's OTA address has no WebSocket address",
      );
    } catch (error) {
      // An old account may still work, unless it has just been rejected.
      if (known !== undefined && !renewed && error instanceof TendonError) return known;
      throw error;
    }
  }

  /** For a board that boots: the activation that its voice server requires, if any. */
  async activationFor(ota: string, identity: OtaIdentity): Promise<UpstreamActivation | undefined> {
    const { activation } = await this.#ask(ota, identity);
    this.#waiting.delete(identity.deviceId);
    if (activation !== undefined && this.#waiting.size < maxWaiting) this.#waiting.add(identity.deviceId);
    return activation;
  }

  /** Asks the voice server whether the board is activated. A board without a pending code is. */
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
      await this.#store.write(identity.deviceId, JSON.stringify(account));
    }
    return answer;
  }

  async #known(ota: string, identity: OtaIdentity): Promise<Account | undefined> {
    const text = await this.#store.read(identity.deviceId);
    const account = text === undefined ? undefined : parseJson(text);
    if (!isObject(account) || account["ota"] !== ota || account["owner"] !== ownerOf(identity))
      return undefined;
    return account as unknown as Account;
  }
}

function ownerOf({ clientId }: OtaIdentity): string {
  return createHash("sha256").update(clientId).digest("hex");
}
