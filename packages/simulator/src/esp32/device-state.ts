import type { BoardOptions } from "./board.ts";

export type StateValue = boolean | number | string;
export type StateListener = (key: string, value: StateValue, previous: StateValue | undefined) => void;

/**
 * The visible state of the device. Keys of the stock firmware: `volume`, `brightness`,
 * `theme`, `battery.level`, `battery.charging`, `network.rssi`, `chip.temperature`, `emotion`, `assets.url`,
 * `preview.url`; custom tools add their own. `brightness` is the setting, to which the
 * screen fades. It is all kept through a reboot, as settings in flash are.
 */
export class DeviceState {
  readonly #values = new Map<string, StateValue>();
  readonly #changed: StateListener;

  constructor(options: BoardOptions, changed: StateListener) {
    this.#changed = changed;
    this.#values.set("volume", options.volume ?? 70);
    this.#values.set("brightness", options.brightness ?? 75);
    this.#values.set("theme", options.theme ?? "light");
    if (options.battery !== undefined && options.battery !== false) {
      this.#values.set("battery.level", options.battery.level);
      this.#values.set("battery.charging", options.battery.charging);
    }
    if (options.chipTemperature !== undefined) this.#values.set("chip.temperature", options.chipTemperature);
  }

  get(key: string): StateValue | undefined {
    return this.#values.get(key);
  }

  number(key: string): number | undefined {
    const value = this.#values.get(key);
    return typeof value === "number" ? value : undefined;
  }

  set(key: string, value: StateValue): void {
    const previous = this.#values.get(key);
    if (previous === value) return;
    this.#values.set(key, value);
    this.#changed(key, value, previous);
  }

  snapshot(): Readonly<Record<string, StateValue>> {
    return Object.fromEntries(this.#values);
  }
}
