import type { JsonObject, ToolResult } from "@tendon/protocol";
import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import type { Callbacks, Placed, Rpc } from "../cluster/cluster.ts";
import type { DeviceSession, McpCapabilities, RequestOptions } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type {
  ControlAction,
  ControlOptions,
  DeviceHandle,
  Inspection,
  OutgoingCall,
  Sent,
} from "./device-handle.ts";
import { type DeviceRequest, relayCallbacks, stepCallbacks, writtenRelay } from "./device-requests.ts";

/** A caller shows what it knows when no figures come in this time. */
const inspectMs = 500;
const watchMs = 20_000;

/** A device that is connected to another node. */
export class RemoteHandle implements DeviceHandle {
  readonly kind: DeviceSession["kind"];
  readonly transport: string;
  readonly hasTools: boolean;
  readonly connectedAt: number;
  readonly node: string;
  readonly local = undefined;
  readonly revision: number;
  readonly mcp: McpCapabilities | undefined;
  /** The run of the node. */
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #rpc: Rpc;
  readonly #subject: string;

  constructor(deviceId: string, { claim, revision }: Placed, clock: Clock, rpc: Rpc) {
    this.kind = claim.kind;
    this.transport = claim.transport;
    this.hasTools = claim.hasTools;
    this.connectedAt = claim.connectedAt;
    this.node = claim.node;
    this.mcp = claim.mcp;
    this.revision = revision;
    this.#instance = claim.instance;
    this.#clock = clock;
    this.#rpc = rpc;
    this.#subject = rpc.deviceSubject(deviceId);
  }

  /** While its node is alive and does not report it offline, the device is connected. */
  get lastSeenAt(): number {
    return this.#clock.now();
  }

  async call(tool: string, args: JsonObject, call: OutgoingCall): Promise<Sent<ToolResult>> {
    const { callId, vision } = call;
    const { timeoutMs, signal, envelope, lane, relay } = call.options();
    const request: DeviceRequest = {
      kind: "call",
      tool,
      arguments: args,
      callId,
      timeoutMs,
      envelope,
      lane,
      vision,
      relay: writtenRelay(relay),
    };
    return (await this.#ask(request, timeoutMs, signal, relayCallbacks(relay))) as Sent<ToolResult>;
  }

  async request(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
  ): Promise<Sent<unknown>> {
    const { timeoutMs, signal, call, relay } = options;
    const request: DeviceRequest = {
      kind: "request",
      method,
      params,
      call,
      timeoutMs,
      relay: writtenRelay(relay),
    };
    return (await this.#ask(request, timeoutMs, signal, relayCallbacks(relay))) as Sent<unknown>;
  }

  async control(action: ControlAction, options: ControlOptions): Promise<ToolResult> {
    const { timeoutMs, signal } = options;
    const request: DeviceRequest = { kind: "control", action, timeoutMs };
    return (await this.#ask(request, timeoutMs, signal, stepCallbacks(options))) as ToolResult;
  }

  /** Whatever becomes of it, nothing is sent to the device. */
  async inspect(signal?: Cancellation): Promise<Inspection> {
    try {
      return (await this.#ask({ kind: "inspect" }, inspectMs, signal)) as Inspection;
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      const { code, message, context } = error;
      const known = code === "device_timeout" ? "node_unreachable" : code;
      throw new TendonError(known, message, { ...context, sent: false }, error);
    }
  }

  async watch(uri: string): Promise<void> {
    await this.#ask({ kind: "watch", uri }, watchMs);
  }

  async unwatch(uri: string): Promise<void> {
    await this.#ask({ kind: "unwatch", uri }, watchMs);
  }

  /** The node that holds the device learns of the reason itself, and closes the connection. */
  close(): void {}

  #ask(
    request: DeviceRequest,
    timeoutMs: number,
    signal?: RequestOptions["signal"],
    callbacks?: Callbacks,
  ): Promise<unknown> {
    return this.#rpc.ask(this.#subject, this.#instance, request, { timeoutMs, signal, callbacks });
  }
}
