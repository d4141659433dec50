/** Changes of the fleet that change what agents see; toolset/ implements it. */
export interface ToolsetChanges {
  /** The device has connected. */
  came(device: string): void;
  left(device: string): void;
  /** Its names, tags or tools are not what they were. */
  changed(device: string): void;
}
