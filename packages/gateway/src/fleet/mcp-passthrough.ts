/**
 * Resources, prompts and completions of standard MCP servers [PRC-9]. Requests are passed on unchanged. The principal
 * needs access to the device, as for tools. Only tool calls are recorded in the history.
 */
import type { JsonObject } from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { newCallId } from "../call-ids.ts";
import type { Cancellation } from "../cancellation.ts";
import type { McpCapabilities, Relay } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { DeviceHandle } from "./device-handle.ts";
import type { DeviceRecord } from "./device-record.ts";

export interface PassthroughOptions {
  readonly signal?: Cancellation | undefined;
  readonly relay?: Relay | undefined;
}

const timeoutMs = 30_000;

export class McpPassthrough {
  readonly #find: (principal: Principal, reference: string) => DeviceRecord;
  readonly #devices: ReadonlyMap<string, DeviceRecord>;
  /** By device: the subscribed resources and their number of subscribers. Each new connection subscribes again. */
  readonly #watched = new Map<string, Map<string, number>>();

  constructor(
    devices: ReadonlyMap<string, DeviceRecord>,
    find: (principal: Principal, reference: string) => DeviceRecord,
  ) {
    this.#devices = devices;
    this.#find = find;
  }

  /** `undefined` if the device is offline or not a standard MCP server. */
  of(principal: Principal, device: string): McpCapabilities | undefined {
    return this.#find(principal, device).handle?.mcp;
  }

  async ask(
    principal: Principal,
    device: string,
    method: string,
    params: JsonObject,
    options: PassthroughOptions = {},
  ): Promise<unknown> {
    const handle = this.#handleFor(principal, device);
    const call = { callId: newCallId(), tool: method };
    const answer = await handle.request(method, params, { ...options, timeoutMs, call });
    return answer.result;
  }

  async watch(principal: Principal, device: string, uri: string): Promise<void> {
    const handle = this.#handleFor(principal, device);
    const counts = this.#watched.get(device) ?? new Map<string, number>();
    this.#watched.set(device, counts);
    const before = counts.get(uri) ?? 0;
    counts.set(uri, before + 1);
    if (before > 0) return;
    try {
      await handle.watch(uri);
    } catch (error) {
      this.unwatch(device, uri);
      throw error;
    }
  }

  /** Never fails: a device that is offline has no subscriptions. */
  unwatch(device: string, uri: string): void {
    const handle = this.#devices.get(device)?.handle;
    const counts = this.#watched.get(device);
    const left = (counts?.get(uri) ?? 0) - 1;
    if (left > 0) counts?.set(uri, left);
    else if (counts?.delete(uri) === true) void handle?.unwatch(uri).catch(() => undefined);
  }

  /** Subscribes again when a program has reconnected, to this or another node. */
  connected(device: string, handle: DeviceHandle): void {
    for (const uri of this.#watched.get(device)?.keys() ?? []) void handle.watch(uri).catch(() => undefined);
  }

  #handleFor(principal: Principal, device: string): DeviceHandle {
    const record = this.#find(principal, device);
    requireScope(principal, "read");
    const { handle } = record;
    if (handle?.mcp !== undefined) return handle;
    if (handle === undefined) throw new TendonError("device_offline", `\`${record.alias}\` is offline`);
    throw new TendonError("bad_request", `\`${record.alias}\` is not a standard MCP server`);
  }
}
