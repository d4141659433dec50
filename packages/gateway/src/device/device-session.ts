import type { JsonObject } from "@tendon/protocol";
import type { Listing } from "./listing.ts";
import type { Answer, CallIdentity, RequestOptions } from "./requests.ts";

/** What a device says of itself. */
export interface DeviceInfo {
  readonly protocolVersion: string | undefined;
  readonly board: string | undefined;
  readonly firmware: string | undefined;
}

/** What a standard MCP server offers beside its tools. */
export interface McpCapabilities {
  readonly resources: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  /** Servers of the older era ask while a call runs; newer ones end a round of the call with their questions. */
  readonly asksDuringCalls: boolean;
  /** Whether clients can subscribe to its resources. Changes come as notifications. */
  readonly subscribe: boolean;
}

/** The subscriptions to resources of a standard MCP server. */
export interface McpSubscriptions {
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
}

/** One connection of one device, whatever it speaks: what the rest of the gateway knows of it. */
export interface DeviceSession {
  readonly deviceId: string;
  readonly kind: "esp32" | "process";
  readonly transport: string;
  readonly sessionId: string;
  /** Whether it offers tools at all. */
  readonly hasTools: boolean;
  /** `undefined` for everything that is not a standard MCP server. */
  readonly mcp?: McpCapabilities | undefined;
  readonly subscriptions?: McpSubscriptions | undefined;
  readonly connectedAt: number;
  readonly lastSeenAt: number;
  readonly queuedCalls: number;
  readonly droppedAudioFrames: number;
  call(
    tool: string,
    args: JsonObject,
    call: CallIdentity,
    options: Omit<RequestOptions, "call">,
  ): Promise<Answer>;
  /** Any other method; its `result` comes back as it is. */
  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer>;
  /** `deviceLeft`: it is gone already, or has come back on another connection. */
  close(closeCode: number, reason: string, deviceLeft?: boolean): void;
}

/** What a session tells whoever keeps it. Nothing comes after `offline`. */
export interface SessionOwner {
  greeted(session: DeviceSession): void;
  initialised(session: DeviceSession, info: DeviceInfo): void;
  listed(session: DeviceSession, listing: Listing): void;
  /** The session goes on under another id. */
  sessionRenamed(session: DeviceSession, oldId: string): void;
  offline(session: DeviceSession, reason: string): void;
}
