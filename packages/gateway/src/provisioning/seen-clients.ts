import { readMqttClientId } from "@tendon/protocol";
import type { Store } from "../store/store.ts";
import { SealedKeys } from "./sealed-keys.ts";

export interface SeenClientsDependencies {
  readonly settings: Store["settings"];
  readonly secret: string;
  /** Whether a device with this MQTT client id is admitted. */
  readonly isAdmitted: (clientId: string) => boolean;
  readonly onFault: (device: string, error: unknown) => void;
}

const prefix = "outside-broker/";

/**
 * The devices of an outside broker that were connected, stored across restarts [MQT-12]. Such a device does not notice a
 * restart of the gateway, and can be reached only by its full client id. The client id is a secret, so it is encrypted.
 */
export class SeenClients {
  readonly #dependencies: SeenClientsDependencies;
  readonly #seals: SealedKeys;

  constructor(dependencies: SeenClientsDependencies) {
    this.#dependencies = dependencies;
    this.#seals = new SealedKeys(dependencies.secret, "tendon client ids");
  }

  /** The client ids that are still admitted; the others are deleted. */
  async all(): Promise<string[]> {
    const { settings, isAdmitted } = this.#dependencies;
    const found: string[] = [];
    for (const [device, sealed] of await settings.startingWith(prefix)) {
      const clientId = this.#seals.open(device, String(sealed))?.toString();
      if (clientId !== undefined && isAdmitted(clientId)) found.push(clientId);
      else await settings.remove(`${prefix}${device}`);
    }
    return found;
  }

  remember(clientId: string): void {
    const { settings, onFault } = this.#dependencies;
    const { deviceId } = readMqttClientId(clientId) ?? {};
    if (deviceId === undefined) return;
    const sealed = this.#seals.seal(deviceId, Buffer.from(clientId));
    settings.set(`${prefix}${deviceId}`, sealed).catch((error: unknown) => onFault(deviceId, error));
  }
}
