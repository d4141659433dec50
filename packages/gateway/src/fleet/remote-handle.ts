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
import { type DeviceRequest, relayCallbacks, relayData, stepCallbacks } from "./device-requests.ts";

/** After this time callers use the figures that this node has. */
const inspectMs = 500;
const watchMs = 20_000;
const notifyMs = 5_000;

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

  /** The device counts as connected until its node fails or reports it offline. */
  get lastSeenAt(): number {
    return this.#clock.now();
  }

  async call(tool: string, args: JsonObject, call: OutgoingCall): Promise<Sent<ToolResult>> {
    const { callId, vision } = call;
    const { timeoutMs, signal, envelope, lane, relay, onSent } = call.options();
    const request: DeviceRequest = {
      kind: "call",
      tool,
      arguments: args,
      callId,
      timeoutMs,
      envelope,
      lane,
      vision,
      relay: relayData(relay),
    };
    const answer = this.#send(request, timeoutMs, signal, relayCallbacks(relay));
    // The other node knows when the call leaves its queue.
    onSent?.();
    return (await answer) as Sent<ToolResult>;
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
      relay: relayData(relay),
    };
    return (await this.#send(request, timeoutMs, signal, relayCallbacks(relay))) as Sent<unknown>;
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    await this.#send({ kind: "notify", method, params }, notifyMs);
  }

  async control(action: ControlAction, options: ControlOptions): Promise<ToolResult> {
    const { timeoutMs, signal } = options;
    const request: DeviceRequest = { kind: "control", action, timeoutMs };
    return (await this.#send(request, timeoutMs, signal, stepCallbacks(options))) as ToolResult;
  }

  /** Errors have `sent: false`, because an inspection sends nothing to the device. */
  async inspect(signal?: Cancellation): Promise<Inspection> {
    try {
      return (await this.#send({ kind: "inspect" }, inspectMs, signal)) as Inspection;
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      const { code, message, context } = error;
      const known = code === "device_timeout" ? "node_unreachable" : code;
      throw new TendonError(known, message, { ...context, sent: false }, error);
    }
  }

  async watch(uri: string): Promise<void> {
    await this.#send({ kind: "watch", uri }, watchMs);
  }

  async unwatch(uri: string): Promise<void> {
    await this.#send({ kind: "unwatch", uri }, watchMs);
  }

  /** Does nothing: the node that holds the device gets the same broadcast and closes the connection. */
  close(): void {}

  #send(
    request: DeviceRequest,
    timeoutMs: number,
    signal?: RequestOptions["signal"],
    callbacks?: Callbacks,
  ): Promise<unknown> {
    return this.#rpc.ask(this.#subject, this.#instance, request, { timeoutMs, signal, callbacks });
  }
}
