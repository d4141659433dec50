import { readMqttClientId } from "@tendon/protocol";
import type { Store } from "../store/store.ts";
import { SealedKeys } from "./sealed-keys.ts";

export interface SeenClientsNeeds {
  readonly settings: Store["settings"];
  readonly secret: string;
  /** Whether a device with this client id may come in. */
  readonly counts: (clientId: string) => boolean;
  readonly onFault: (device: string, error: unknown) => void;
}

const prefix = "outside-broker/";

/**
 * Devices of an outside broker that have been here, over restarts [MQT-12]. A device there does not notice that the
 * gateway was away, and can be asked only by who has its whole client id. That is a secret, so it lies sealed.
 */
export class SeenClients {
  readonly #needs: SeenClientsNeeds;
  readonly #seals: SealedKeys;

  constructor(needs: SeenClientsNeeds) {
    this.#needs = needs;
    this.#seals = new SealedKeys(needs.secret, "tendon client ids");
  }

  /** Those that still count; the others are forgotten. */
  async all(): Promise<string[]> {
    const { settings, counts } = this.#needs;
    const found: string[] = [];
    for (const [device, sealed] of await settings.startingWith(prefix)) {
      const clientId = this.#seals.open(device, String(sealed))?.toString();
      if (clientId !== undefined && counts(clientId)) found.push(clientId);
      else await settings.remove(`${prefix}${device}`);
    }
    return found;
  }

  remember(clientId: string): void {
    const { settings, onFault } = this.#needs;
    const { deviceId } = readMqttClientId(clientId) ?? {};
    if (deviceId === undefined) return;
    const sealed = this.#seals.seal(deviceId, Buffer.from(clientId));
    settings.set(`${prefix}${deviceId}`, sealed).catch((error: unknown) => onFault(deviceId, error));
  }
}
