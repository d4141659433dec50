/** The level a device had before it was muted, by the tool that sets it; setting a level anew forgets it. */
export class MuteMemory {
  readonly #levels = new Map<string, number>();

  level(device: string, tool: string): number | undefined {
    return this.#levels.get(`${device}\u0000${tool}`);
  }

  remember(device: string, tool: string, level: number): void {
    this.#levels.set(`${device}\u0000${tool}`, level);
  }

  forget(device: string, tool: string): void {
    this.#levels.delete(`${device}\u0000${tool}`);
  }
}
