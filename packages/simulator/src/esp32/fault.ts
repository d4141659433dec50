import type { ByteText } from "./byte-text.ts";
import type { McpReply } from "./mcp-server.ts";
import type { Tool } from "./tool.ts";
import type { Greeting } from "./transport.ts";

/** What a fault may do to the device it sits in. */
export interface FaultyDevice {
  addTool(tool: Tool): void;
  /** Sends an MCP message nobody asked for. */
  notify(payload: ByteText): void;
  /** Puts a text on the wire behind everything already queued. */
  say(text: ByteText): void;
  /** Ends this life in the middle of whatever runs. */
  restart(cause: string): void;
  sleep(ms: number): Promise<void>;
  after(ms: number, task: () => void): () => void;
  random(): number;
}

/** One payload on its way out. */
export interface Delivery {
  readonly payload: ByteText;
  readonly afterMs: number;
}

/** The places where a fault may put its hand; what it leaves out stays as the firmware does it. */
export interface FaultHooks {
  readonly noPong?: boolean;
  /** MCP messages are not understood at all. */
  readonly deaf?: boolean;
  readonly oldFirmware?: boolean;
  /** What comes of an update: the device stays dark, or its bootloader goes back to what ran before. */
  readonly failedUpdate?: "dark" | "rolled-back";
  greeting?(greeting: Greeting): Greeting | undefined;
  booted?(): void;
  opened?(): void;
  closed?(): void;
  beforeCall?(): Promise<void> | undefined;
  deliver?(reply: McpReply, deliveries: readonly Delivery[]): readonly Delivery[];
}

/** A fault by name; each device gets hooks of its own, so counters are never shared. */
export interface Fault {
  readonly name: string;
  readonly install: (device: FaultyDevice) => FaultHooks;
}
