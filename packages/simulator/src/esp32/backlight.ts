import type { DeviceState } from "./device-state.ts";

const stepMs = 5;

/**
 * The light behind the screen. It fades to the setting `brightness`, one step each time a timer ticks. The level
 * is worked out when it is read, so that a fade costs no timers.
 */
export class Backlight {
  readonly #state: DeviceState;
  readonly #now: () => number;
  #from: number;
  #target: number;
  /** A tick of the timer, at which the level was `#from`. */
  #since = 0;

  constructor(state: DeviceState, now: () => number) {
    this.#state = state;
    this.#now = now;
    this.#target = this.#setting;
    this.#from = this.#target;
  }

  /** What the firmware reports as brightness. */
  get level(): number {
    // A setting that did not come from the firmware's own tool: a test or a tools file turned the knob.
    if (this.#target !== this.#setting) {
      this.#target = this.#setting;
      this.#from = this.#target;
    }
    const distance = this.#target - this.#from;
    const steps = this.#ticks();
    if (steps < Math.abs(distance)) return this.#from + Math.sign(distance) * steps;
    // A finished fade stays finished, also if the clock of the machine is set back.
    this.#from = this.#target;
    return this.#target;
  }

  set(brightness: number): void {
    const { level } = this;
    // The firmware compares with the level, not with the setting: a value that a fade is passing is ignored.
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
