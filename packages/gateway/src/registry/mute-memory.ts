/**
 * [CTL-7] The level a device had before it was muted, by the tool that sets it. Setting a level anew forgets it, by
 * whatever door: each call that is carried out is told here.
 */
export class MuteMemory {
  readonly #levels = new Map<string, number>();

  level(device: string, tool: string): number | undefined {
    return this.#levels.get(`${device}\u0000${tool}`);
  }

  remember(device: string, tool: string, level: number): void {
    this.#levels.set(`${device}\u0000${tool}`, level);
  }

  forget(device: string, tool: string): void {
    if (this.#levels.size > 0) this.#levels.delete(`${device}\u0000${tool}`);
  }
}
