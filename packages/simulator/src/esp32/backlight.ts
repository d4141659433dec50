import type { DeviceState } from "./device-state.ts";

const stepMs = 5;

/**
 * The backlight of the screen. It fades to the setting `brightness`, one step per tick. The level is computed when it is
 * read, so that a fade needs no timers.
 */
export class Backlight {
  readonly #state: DeviceState;
  readonly #now: () => number;
  #from: number;
  #target: number;
  /** The tick at which the level was `#from`. */
  #since = 0;

  constructor(state: DeviceState, now: () => number) {
    this.#state = state;
    this.#now = now;
    this.#target = this.#setting;
    this.#from = this.#target;
  }

  /** The brightness that the firmware reports. */
  get level(): number {
    // The setting was changed by a test or a tools file, not by the firmware's tool.
    if (this.#target !== this.#setting) {
      this.#target = this.#setting;
      this.#from = this.#target;
    }
    const distance = this.#target - this.#from;
    const steps = this.#ticks();
    if (steps < Math.abs(distance)) return this.#from + Math.sign(distance) * steps;
    // A finished fade stays finished, even if the machine's clock is set back.
    this.#from = this.#target;
    return this.#target;
  }

  set(brightness: number): void {
    const { level } = this;
    // The firmware compares with the level, not with the setting: it ignores a value that a fade is just passing.
    if (brightness === level) return;
    const fading = level !== this.#target;
    this.#since = fading ? this.#since + this.#ticks() * stepMs : this.#now();
    this.#from = level;
    this.#target = brightness;
    this.#state.set("brightness", brightness);
  }

  get #setting(): number {
    return this.#state.number("brightness") ?? 0;
  }

  #ticks(): number {
    return Math.max(0, Math.floor((this.#now() - this.#since) / stepMs));
  }
}
