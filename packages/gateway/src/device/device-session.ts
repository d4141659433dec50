import type { JsonObject } from "@tendon/protocol";
import type { Listing } from "./listing.ts";
import type { Answer, CallIdentity, RequestOptions } from "./requests.ts";

/** What a device reports about itself. */
export interface DeviceInfo {
  readonly protocolVersion: string | undefined;
  readonly board: string | undefined;
  readonly firmware: string | undefined;
}

/** What a standard MCP server offers in addition to tools. */
export interface McpCapabilities {
  readonly resources: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  /** Servers of the older era send questions during a call. Newer ones end a round of the call with their questions. */
  readonly asksDuringCalls: boolean;
  /** Whether clients can subscribe to its resources. Changes come as notifications. */
  readonly subscribe: boolean;
}

/** The subscriptions to resources of a standard MCP server. */
export interface McpSubscriptions {
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
}

/** One connection of one device, over any transport and protocol, as the rest of the gateway sees it. */
export interface DeviceSession {
  readonly deviceId: string;
  readonly kind: "esp32" | "process" | "http" | "endpoint";
  readonly transport: string;
  readonly sessionId: string;
  /** Whether it offers tools. */
  readonly hasTools: boolean;
  /** Set only for a standard MCP server. */
  readonly mcp?: McpCapabilities | undefined;
  readonly subscriptions?: McpSubscriptions | undefined;
  readonly connectedAt: number;
  readonly lastSeenAt: number;
  readonly queuedCalls: number;
  /** Whether a request runs or waits. */
  readonly busy: boolean;
  readonly droppedAudioFrames: number;
  /** Set while its user talks with a voice server. */
  readonly conversation?: object | undefined;
  call(
    tool: string,
    args: JsonObject,
    call: CallIdentity,
    options: Omit<RequestOptions, "call">,
  ): Promise<Answer>;
  /** Lets other calls wait until the returned function is called, while calls run that waited for the device. */
  holdLiveCalls(): () => void;
  /** Any other method. Returns its `result` unchanged. */
  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Answer>;
  /** Sends a message that has no answer, past the queue. `bad_request` if the device's protocol has no such message. */
  notify(method: string, params: JsonObject | undefined): Promise<void>;
  /** `deviceLeft`: the device has already gone, or has reconnected on another connection. */
  close(closeCode: number, reason: string, deviceLeft?: boolean): void;
}

/** What a session reports to its owner. Nothing follows `offline`. */
export interface SessionOwner {
  online(session: DeviceSession): void;
  initialised(session: DeviceSession, info: DeviceInfo): void;
  listed(session: DeviceSession, listing: Listing): void;
  /** The session continues under another id. */
  sessionRenamed(session: DeviceSession, oldId: string): void;
  /** The voice server of a conversation has given its own session id, or an empty one. */
  voiceSessionStarted(session: DeviceSession, id: string): void;
  offline(session: DeviceSession, reason: string): void;
}
