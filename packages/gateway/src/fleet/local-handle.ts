import { type JsonObject, normaliseResult, type ToolResult, textResult } from "@tendon/protocol";
import type { DeviceSession, McpCapabilities, RequestOptions } from "../device/device.ts";
import type {
  ControlAction,
  ControlOptions,
  ControlRunner,
  DeviceHandle,
  Inspection,
  OutgoingCall,
  Sent,
  SpecialTools,
} from "./device-handle.ts";
import type { DeviceRecord } from "./device-record.ts";

export interface LocalHandleDependencies {
  readonly node: string;
  readonly specialTools: SpecialTools;
  readonly control: ControlRunner;
  /** A device has reported its status. */
  readonly onStatus: (record: DeviceRecord, value: JsonObject) => void;
  /** Called after each call without an error, from every interface. */
  readonly onSuccess: (device: string, tool: string) => void;
}

const statusTool = "self.get_device_status";

/** This node among the watchers; other nodes are named by their instance. */
const thisNode = "";

/** A device that is connected to this node. */
export class LocalHandle implements DeviceHandle {
  readonly session: DeviceSession;
  readonly local = this;
  readonly revision = undefined;
  readonly #record: DeviceRecord;
  readonly #dependencies: LocalHandleDependencies;
  /** By resource: the nodes whose agents have subscribed to it, and the subscription of all of them. */
  #watched: Map<string, { readonly watchers: Set<string>; readonly subscribed: Promise<void> }> | undefined;

  constructor(session: DeviceSession, record: DeviceRecord, dependencies: LocalHandleDependencies) {
    this.session = session;
    this.#record = record;
    this.#dependencies = dependencies;
  }

  get kind(): DeviceSession["kind"] {
    return this.session.kind;
  }

  get transport(): string {
    return this.session.transport;
  }

  get hasTools(): boolean {
    return this.session.hasTools;
  }

  get connectedAt(): number {
    return this.session.connectedAt;
  }

  get lastSeenAt(): number {
    return this.session.lastSeenAt;
  }

  get node(): string {
    return this.#dependencies.node;
  }

  get mcp(): McpCapabilities | undefined {
    return this.session.mcp;
  }

  call(tool: string, args: JsonObject, call: OutgoingCall): Promise<Sent<ToolResult>> {
    const { session } = this;
    const record = this.#record;
    const { specialTools } = this.#dependencies;
    const send = (given = args) => this.#send(tool, given, call);
    if (!specialTools.handles(record, tool)) return send();
    const { callId, vision } = call;
    const options = () => call.options();
    return specialTools.run({ record, session, tool, args, callId, vision, options, send });
  }

  async #send(tool: string, args: JsonObject, call: OutgoingCall): Promise<Sent<ToolResult>> {
    const { onStatus, onSuccess } = this.#dependencies;
    const identity = { callId: call.callId, tool };
    const { result: answer, left, queuedMs } = await this.session.call(tool, args, identity, call.options());
    const result = left ? textResult("done: the device disconnected to run it") : normaliseResult(answer);
    if (tool === statusTool && result.structuredContent !== undefined)
      onStatus(this.#record, result.structuredContent);
    if (!result.isError) onSuccess(this.#record.id, tool);
    return { result, queuedMs };
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Sent<unknown>> {
    return this.session.request(method, params, options);
  }

  async notify(method: string, params: JsonObject | undefined): Promise<void> {
    await this.session.notify(method, params);
  }

  control(action: ControlAction, options: ControlOptions): Promise<ToolResult> {
    return this.#dependencies.control.run(this.#record, action, options);
  }

  async inspect(): Promise<Inspection> {
    return this.#record.inspection();
  }

  async watch(uri: string, watcher = thisNode): Promise<void> {
    this.#watched ??= new Map();
    const known = this.#watched.get(uri);
    known?.watchers.add(watcher);
    if (known !== undefined) return await known.subscribed;
    const subscribed = Promise.resolve(this.session.subscriptions?.watch(uri));
    this.#watched.set(uri, { watchers: new Set([watcher]), subscribed });
    try {
      await subscribed;
    } catch (error) {
      this.#watched.delete(uri);
      throw error;
    }
  }

  async unwatch(uri: string, watcher = thisNode): Promise<void> {
    const { watchers } = this.#watched?.get(uri) ?? {};
    if (watchers?.delete(watcher) !== true || watchers.size > 0) return;
    this.#watched?.delete(uri);
    await this.session.subscriptions?.unwatch(uri);
  }

  /** Removes the subscriptions of a node that has failed. */
  removeWatcher(watcher: string): void {
    for (const uri of [...(this.#watched?.keys() ?? [])]) this.unwatch(uri, watcher).catch(() => undefined);
  }

  close(closeCode: number, reason: string): void {
    this.session.close(closeCode, reason, false);
  }
}
