/** Notifies the toolset of changes in the fleet. `toolset/` implements it. */
export interface ToolsetChanges {
  connected(device: string): void;
  disconnected(device: string): void;
  /** The device's names, tags or tools have changed. */
  changed(device: string): void;
}
