/**
 * A connected device, on this node or on another: one interface for both. `LocalHandle` wraps a session of this node.
 * `RemoteHandle` sends the same operations to the node that holds the device, where a `LocalHandle` runs them.
 * Callers do not depend on which of the two they have.
 */
import type { Composition, JsonObject, ToolResult } from "@tendon/protocol";
import type { Cancellation } from "../cancellation.ts";
import type { DeviceSession, McpCapabilities, RequestOptions } from "../device/device.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { LocalHandle } from "./local-handle.ts";

export interface DeviceHandle {
  readonly kind: DeviceSession["kind"];
  readonly transport: string;
  /** Whether the device offers tools at all. */
  readonly hasTools: boolean;
  readonly connectedAt: number;
  readonly lastSeenAt: number;
  /** The name of the node that holds the device. */
  readonly node: string;
  /** The handle itself, if this node holds the device. Only for `fleet/`, which tracks connections. */
  readonly local: LocalHandle | undefined;
  /** The directory's revision of a connection on another node. Only for `fleet/`. */
  readonly revision: number | undefined;
  /** The capabilities of a standard MCP server; `undefined` for every other device. */
  readonly mcp: McpCapabilities | undefined;
  /** Sends a call that the pipeline has already authorized. */
  call(tool: string, args: JsonObject, call: OutgoingCall): Promise<Sent<ToolResult>>;
  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Sent<unknown>>;
  /** Sends a message that has no answer. Resolves when it has been sent. */
  notify(method: string, params: JsonObject | undefined): Promise<void>;
  /** Runs an action on the node that holds the device. `options.call` makes each call on the requesting node. */
  control(action: ControlAction, options: ControlOptions): Promise<ToolResult>;
  /** Live figures that only the node that holds the device has. */
  inspect(signal?: Cancellation): Promise<Inspection>;
  /** Subscribes to a resource of a standard MCP server. */
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
  close(closeCode: number, reason: string): void;
}

/** An authorized call on its way to the device. */
export interface OutgoingCall {
  readonly callId: string;
  /** The `vision` capability of another server, if the photo of this call goes there. */
  readonly vision: JsonObject | undefined;
  /** The request's options with the remaining time as `timeoutMs`. */
  options(): Omit<RequestOptions, "call">;
}

export interface Sent<Result> {
  readonly result: Result;
  readonly queuedMs: number;
}

export interface Inspection {
  /** `undefined` while the device is offline, and from nodes of older versions. */
  readonly sessionId?: string | undefined;
  readonly queuedCalls: number;
  readonly droppedAudioFrames: number;
  readonly lastSeenAt: number;
  readonly status: { readonly at: number; readonly value: JsonObject } | undefined;
}

/** A `device_control` action whose arguments have been read and checked. */
export interface ControlAction {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** How to compose the action from other tools if the device has no tool for it. */
  readonly compose: Composition | undefined;
  /** [CTL-5] The tool may be missing from the device's list. */
  readonly unlisted: boolean;
}

export interface ControlOptions {
  readonly timeoutMs: number;
  readonly signal: Cancellation | undefined;
  /** Makes one call of the action. It passes the whole call pipeline, with the caller's rights. */
  readonly call: (tool: string, args: JsonObject, unlisted: boolean) => Promise<ToolResult>;
}

/** A call on its way to a device of this node. */
export interface LocalCall extends OutgoingCall {
  readonly record: DeviceRecord;
  readonly session: DeviceSession;
  readonly tool: string;
  readonly args: JsonObject;
  /** Sends the call as one request, with these arguments or its own. */
  send(args?: JsonObject): Promise<Sent<ToolResult>>;
}

/** Tools that need more than one request. `calls/` implements it. */
export interface SpecialTools {
  handles(record: DeviceRecord, tool: string): boolean;
  /** Only for a tool that it handles. */
  run(call: LocalCall): Promise<Sent<ToolResult>>;
}

/** Runs actions on a device of this node, one at a time per device. `calls/` implements it. */
export interface ControlRunner {
  run(record: DeviceRecord, action: ControlAction, options: ControlOptions): Promise<ToolResult>;
}
