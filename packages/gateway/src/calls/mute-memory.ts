import type { Store } from "../store/store.ts";

const prefix = "muted/";

/**
 * [CTL-7] The level a device had before it was muted, by the tool that sets it. Setting a level anew forgets it, by
 * whatever door: each call that is carried out is told here. It is written down as well, because nobody else knows it
 * when the gateway was restarted, or the device has come to another node.
 */
export class MuteMemory {
  readonly #store: Pick<Store, "settings" | "state">;
  readonly #onFault: (device: string, error: unknown) => void;
  readonly #levels = new Map<string, number>();
  /** What is on its way to the store, by the name of the level. */
  readonly #writes = new Map<string, Promise<void>>();
  #tellOthers: (device: string, tool: string, level: number | undefined) => void = () => {};

  constructor(store: Pick<Store, "settings" | "state">, onFault: (device: string, error: unknown) => void) {
    this.#store = store;
    this.#onFault = onFault;
  }

  /** The device may go to another node next, and be set or muted anew there. */
  shareWith(tell: (device: string, tool: string, level: number | undefined) => void): void {
    this.#tellOthers = tell;
  }

  /** Another node has remembered or forgotten it, and writes it down. */
  learn(device: string, tool: string, level: number | undefined): void {
    if (level === undefined) this.#levels.delete(`${device}/${tool}`);
    else this.#levels.set(`${device}/${tool}`, level);
  }

  async restore(): Promise<void> {
    for (const [name, level] of await this.#store.settings.startingWith(prefix))
      if (typeof level === "number") this.#levels.set(name, level);
  }

  async level(device: string, tool: string): Promise<number | undefined> {
    const name = `${device}/${tool}`;
    const known = this.#levels.get(name);
    if (known !== undefined || this.#store.state.away) return known;
    await this.#writes.get(name);
    // Another node may have muted it; from now on it is this one's to forget.
    const kept = await this.#store.settings.get(`${prefix}${name}`).catch(() => undefined);
    if (typeof kept !== "number") return undefined;
    this.#levels.set(name, kept);
    return kept;
  }

  remember(device: string, tool: string, level: number): void {
    const name = `${device}/${tool}`;
    this.#levels.set(name, level);
    this.#tellOthers(device, tool, level);
    this.#write(device, name);
  }

  forget(device: string, tool: string): void {
    if (this.#levels.size === 0) return;
    const name = `${device}/${tool}`;
    if (!this.#levels.delete(name)) return;
    this.#tellOthers(device, tool, undefined);
    this.#write(device, name);
  }

  /** The device was deleted. */
  forgetDevice(device: string): void {
    const tools = [...this.#levels.keys()].filter((name) => name.startsWith(`${device}/`));
    for (const name of tools) this.forget(device, name.slice(device.length + 1));
  }

  /** Resolves when all of it has been written, or has failed. */
  async close(): Promise<void> {
    await Promise.all(this.#writes.values());
  }

  /** Nobody waits for it: a database that is away holds up no action. */
  #write(device: string, name: string): void {
    const { settings } = this.#store;
    const level = this.#levels.get(name);
    const key = `${prefix}${name}`;
    const write = () => (level === undefined ? settings.remove(key) : settings.set(key, level));
    const written = (this.#writes.get(name) ?? Promise.resolve())
      .then(write)
      .catch((error: unknown) => this.#onFault(device, error))
      .then(() => {
        if (this.#writes.get(name) === written) this.#writes.delete(name);
      });
    this.#writes.set(name, written);
  }
}
