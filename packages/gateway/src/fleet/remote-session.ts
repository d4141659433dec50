import type { ControlRequest, ControlResponse, JsonObject, ToolResult } from "@tendon/protocol";
import type { Principal, Scope } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import type { Placed, Rpc } from "../cluster/cluster.ts";
import type { DeviceSession, RequestOptions } from "../device/device.ts";
import { TendonError } from "../errors.ts";

/** What one node asks another to do with a device that is there. */
export type DeviceAsk =
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly callId: string;
      readonly timeoutMs: number;
      readonly envelope: JsonObject | undefined;
      readonly lane: "voice" | undefined;
      readonly vision: JsonObject | undefined;
    }
  | {
      readonly kind: "request";
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly call: RequestOptions["call"];
      readonly timeoutMs: number;
    }
  | { readonly kind: "control"; readonly principal: WrittenPrincipal; readonly message: ControlRequest }
  | { readonly kind: "look" };

/** What only the node that holds a device can tell of it. */
export interface Glance {
  readonly queuedCalls: number;
  readonly droppedAudioFrames: number;
  readonly lastSeenAt: number;
  readonly status: { readonly at: number; readonly value: JsonObject } | undefined;
}

/** It is only looked at: whoever asks has something to show without it. */
const glanceMs = 500;

/** A call that has been decided on and is to be sent. */
export interface OutgoingCall {
  readonly callId: string;
  readonly vision: JsonObject | undefined;
  options(): Pick<RequestOptions, "timeoutMs" | "signal"> & {
    readonly envelope?: JsonObject | undefined;
    readonly lane?: "voice" | undefined;
  };
}

export interface Sent<Result> {
  readonly result: Result;
  readonly queuedMs: number;
}

/**
 * A connection that another node holds. What has been decided about a call is decided here; sending it, with its
 * place in the device's queue and its picture, is that node's part.
 */
export class RemoteSession implements DeviceSession {
  readonly deviceId: string;
  readonly kind: DeviceSession["kind"];
  readonly transport: string;
  readonly sessionId = "";
  readonly hasTools: boolean;
  readonly connectedAt: number;
  readonly queuedCalls = 0;
  readonly droppedAudioFrames = 0;
  /** The node that holds it: the machine's name, and the run of it. */
  readonly node: string;
  readonly instance: string;
  readonly revision: number;
  readonly #clock: Clock;
  readonly #rpc: Rpc;
  readonly #subject: string;

  constructor(deviceId: string, { claim, revision }: Placed, clock: Clock, rpc: Rpc) {
    this.deviceId = deviceId;
    this.kind = claim.kind;
    this.transport = claim.transport;
    this.hasTools = claim.hasTools;
    this.connectedAt = claim.connectedAt;
    this.node = claim.node;
    this.instance = claim.instance;
    this.revision = revision;
    this.#clock = clock;
    this.#rpc = rpc;
    this.#subject = rpc.deviceSubject(deviceId);
  }

  /** While its node is heard and says nothing else, it is there. */
  get lastSeenAt(): number {
    return this.#clock.now();
  }

  async send(tool: string, args: JsonObject, turn: OutgoingCall): Promise<Sent<ToolResult>> {
    const { timeoutMs, envelope, lane, signal } = turn.options();
    const { callId, vision } = turn;
    const ask: DeviceAsk = {
      kind: "call",
      tool,
      arguments: args,
      callId,
      timeoutMs,
      envelope,
      lane,
      vision,
    };
    return (await this.#ask(ask, timeoutMs, signal)) as Sent<ToolResult>;
  }

  /** Tool calls have their own way, above. */
  call(): Promise<never> {
    return Promise.reject(new TendonError("internal", "a call was sent through a session far away"));
  }

  async request(method: string, params: JsonObject | undefined, options: RequestOptions) {
    const { timeoutMs, signal, call } = options;
    const ask: DeviceAsk = { kind: "request", method, params, call, timeoutMs };
    const { result, queuedMs } = (await this.#ask(ask, timeoutMs, signal)) as Sent<unknown>;
    return { result, queuedMs, left: false };
  }

  async control(
    principal: Principal,
    message: ControlRequest,
    timeoutMs: number,
    signal: RequestOptions["signal"],
  ): Promise<ControlResponse> {
    const ask: DeviceAsk = { kind: "control", principal: writePrincipal(principal), message };
    return (await this.#ask(ask, timeoutMs, signal)) as ControlResponse;
  }

  /** Whatever becomes of it, the device was sent nothing. */
  async look(signal?: RequestOptions["signal"]): Promise<Glance> {
    try {
      return (await this.#ask({ kind: "look" }, glanceMs, signal)) as Glance;
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      const { code, message, context } = error;
      const known = code === "device_timeout" ? "node_unreachable" : code;
      throw new TendonError(known, message, { ...context, sent: false }, error);
    }
  }

  /** The node that holds it hears of whatever ends it, and closes it there. */
  close(): void {}

  #ask(ask: DeviceAsk, timeoutMs: number, signal: RequestOptions["signal"]): Promise<unknown> {
    return this.#rpc.ask(this.#subject, this.instance, ask, { timeoutMs, signal });
  }
}

/** A principal as it travels between nodes. */
interface WrittenPrincipal {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly devices: { readonly ids: readonly string[]; readonly tags: readonly string[] } | null;
}

function writePrincipal({ id, name, scopes, devices }: Principal): WrittenPrincipal {
  return {
    id,
    name,
    scopes: [...scopes],
    devices: devices === undefined ? null : { ids: [...devices.ids], tags: [...devices.tags] },
  };
}

export function readPrincipal({ id, name, scopes, devices }: WrittenPrincipal): Principal {
  return {
    id,
    name,
    scopes: new Set(scopes),
    devices: devices === null ? undefined : { ids: new Set(devices.ids), tags: new Set(devices.tags) },
  };
}
