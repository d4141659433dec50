import type { Store } from "../store/store.ts";

const prefix = "muted/";

/**
 * [CTL-7] The level that a device had before it was muted, by the tool that sets it. Any later call that sets the level
 * removes the entry. Levels are stored, so that unmuting works after a restart and on another node.
 */
export class MutedLevels {
  readonly #store: Pick<Store, "settings" | "state">;
  readonly #onFault: (device: string, error: unknown) => void;
  readonly #levels = new Map<string, number>();
  /** The pending writes by the name of the level. */
  readonly #writes = new Map<string, Promise<void>>();
  #broadcast: (device: string, tool: string, level: number | undefined) => void = () => {};

  constructor(store: Pick<Store, "settings" | "state">, onFault: (device: string, error: unknown) => void) {
    this.#store = store;
    this.#onFault = onFault;
  }

  /** In a cluster: sends each change to the other nodes, because the device may connect to one of them next. */
  onChange(broadcast: (device: string, tool: string, level: number | undefined) => void): void {
    this.#broadcast = broadcast;
  }

  /** Applies a change of another node, which also stores it. */
  applyRemote(device: string, tool: string, level: number | undefined): void {
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
    if (known !== undefined || this.#store.state.unavailable) return known;
    await this.#writes.get(name);
    // Another node may have muted the device.
    const stored = await this.#store.settings.get(`${prefix}${name}`).catch(() => undefined);
    if (typeof stored !== "number") return undefined;
    this.#levels.set(name, stored);
    return stored;
  }

  remember(device: string, tool: string, level: number): void {
    const name = `${device}/${tool}`;
    this.#levels.set(name, level);
    this.#broadcast(device, tool, level);
    this.#write(device, name);
  }

  forget(device: string, tool: string): void {
    if (this.#levels.size === 0) return;
    const name = `${device}/${tool}`;
    if (!this.#levels.delete(name)) return;
    this.#broadcast(device, tool, undefined);
    this.#write(device, name);
  }

  /** Called when the device is deleted. */
  forgetDevice(device: string): void {
    const tools = [...this.#levels.keys()].filter((name) => name.startsWith(`${device}/`));
    for (const name of tools) this.forget(device, name.slice(device.length + 1));
  }

  /** Resolves when all pending writes have ended, with or without success. */
  async close(): Promise<void> {
    await Promise.all(this.#writes.values());
  }

  /** Not awaited, so that an unavailable database does not delay an action. */
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
