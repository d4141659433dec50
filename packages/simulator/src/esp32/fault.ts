import type { ByteText } from "./byte-text.ts";
import type { McpReply } from "./mcp-server.ts";
import type { Tool } from "./tool.ts";
import type { Greeting } from "./transport.ts";

/** What a fault can do to its device. */
export interface FaultyDevice {
  addTool(tool: Tool): void;
  /** Sends an unsolicited MCP message. */
  notify(payload: ByteText): void;
  /** Sends a text after everything that is already queued. */
  say(text: ByteText): void;
  /** Restarts the device immediately, while tasks run. */
  restart(cause: string): void;
  sleep(ms: number): Promise<void>;
  after(ms: number, task: () => void): () => void;
  random(): number;
}

/** One outgoing payload. */
export interface Delivery {
  readonly payload: ByteText;
  readonly afterMs: number;
}

/** The hooks of a fault. Without a hook, the device behaves like the firmware. */
export interface FaultHooks {
  readonly noPong?: boolean;
  /** The device ignores MCP messages. */
  readonly ignoresMcp?: boolean;
  readonly oldFirmware?: boolean;
  /** How an update fails: the device stays offline, or its bootloader returns to the previous firmware. */
  readonly failedUpdate?: "dark" | "rolled-back";
  greeting?(greeting: Greeting): Greeting | undefined;
  booted?(): void;
  opened?(): void;
  closed?(): void;
  beforeCall?(): Promise<void> | undefined;
  deliver?(reply: McpReply, deliveries: readonly Delivery[]): readonly Delivery[];
}

/** A named fault. Each device gets its own hooks, so that counters are not shared. */
export interface Fault {
  readonly name: string;
  readonly install: (device: FaultyDevice) => FaultHooks;
}
