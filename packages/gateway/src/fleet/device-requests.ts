/**
 * The requests that a node sends to the node that holds a device, and the callbacks while a request runs. Callbacks carry
 * questions and progress of an MCP program, and the calls of a `device_control` action.
 */
import { isObject, type JsonObject, limits, type ToolResult } from "@tendon/protocol";
import type { Cancellation } from "../cancellation.ts";
import type { Clock } from "../clock.ts";
import type { Callbacks, Caller } from "../cluster/cluster.ts";
import type { CallLane, Question, Relay, RequestOptions } from "../device/device.ts";
import { jsonRpcErrorOf, messageOf, TendonError } from "../errors.ts";
import type { ControlAction, ControlOptions, OutgoingCall } from "./device-handle.ts";
import type { LocalHandle } from "./local-handle.ts";

export type DeviceRequest =
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly callId: string;
      readonly timeoutMs: number;
      readonly envelope: JsonObject | undefined;
      readonly lane: CallLane | undefined;
      readonly vision: JsonObject | undefined;
      readonly relay: RelayData | undefined;
    }
  | {
      readonly kind: "request";
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly call: RequestOptions["call"];
      readonly timeoutMs: number;
      readonly relay: RelayData | undefined;
    }
  | { readonly kind: "notify"; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: "control"; readonly action: ControlAction; readonly timeoutMs: number }
  | { readonly kind: "inspect" }
  | { readonly kind: "watch"; readonly uri: string }
  | { readonly kind: "unwatch"; readonly uri: string };

/** The serializable part of a relay. */
type RelayData = Pick<Relay, "caller" | "meta" | "inputResponses" | "requestState">;

/** What the node that holds the device sends back while a request runs. */
type DeviceCallback =
  | { readonly kind: "question"; readonly question: Question }
  | { readonly kind: "progress"; readonly progress: Parameters<Relay["progress"]>[0] }
  | { readonly kind: "log"; readonly entry: JsonObject }
  | {
      readonly kind: "step";
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly unlisted: boolean;
    };

/** The caller's answer to a question, or its JSON-RPC error. */
type QuestionAnswer =
  | { readonly answer: JsonObject }
  | { readonly code: number; readonly message: string; readonly data: unknown };

class QuestionRefused extends Error {
  override readonly name = "QuestionRefused";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Runs a request of another node. */
export async function answerDeviceRequest(
  handle: LocalHandle,
  request: DeviceRequest,
  { clock, signal, caller }: { clock: Clock; signal: Cancellation; caller: Caller },
): Promise<unknown> {
  switch (request.kind) {
    case "call":
      return await handle.call(request.tool, request.arguments, outgoingCall(request, clock, signal, caller));
    case "request": {
      const { method, params, call, timeoutMs } = request;
      const relay = relayTo(caller, request.relay);
      const { result, queuedMs } = await handle.request(method, params, { timeoutMs, call, signal, relay });
      return { result, queuedMs };
    }
    case "notify":
      return await handle.notify(request.method, request.params);
    case "control": {
      const { action, timeoutMs } = request;
      const call: ControlOptions["call"] = async (tool, args, unlisted) => {
        const step: DeviceCallback = { kind: "step", tool, arguments: args, unlisted };
        return (await caller.request(step, { timeoutMs, signal })) as ToolResult;
      };
      return await handle.control(action, { timeoutMs, signal, call });
    }
    case "inspect":
      return await handle.inspect();
    case "watch":
      return await handle.watch(request.uri, caller.node);
    case "unwatch":
      return await handle.unwatch(request.uri, caller.node);
    default:
      return request satisfies never;
  }
}

function outgoingCall(
  { callId, vision, timeoutMs, envelope, lane, relay }: Extract<DeviceRequest, { kind: "call" }>,
  clock: Clock,
  signal: Cancellation,
  caller: Caller,
): OutgoingCall {
  const dueAt = clock.monotonic() + timeoutMs;
  const options = { signal, envelope, lane, relay: relayTo(caller, relay) };
  return {
    callId,
    vision,
    options: () => ({ ...options, timeoutMs: Math.max(1, Math.ceil(dueAt - clock.monotonic())) }),
  };
}

export function relayData(relay: Relay | undefined): RelayData | undefined {
  if (relay === undefined) return undefined;
  const { caller, meta, inputResponses, requestState } = relay;
  return { caller, meta, inputResponses, requestState };
}

/** A relay that sends to the caller on another node. */
function relayTo(caller: Caller, written: RelayData | undefined): Relay | undefined {
  if (written === undefined) return undefined;
  return {
    ...written,
    async ask(question, signal) {
      const callback: DeviceCallback = { kind: "question", question };
      const options = { timeoutMs: limits.callTimeoutMs.max, signal };
      const answered = (await caller.request(callback, options)) as QuestionAnswer;
      if ("answer" in answered) return answered.answer;
      throw new QuestionRefused(answered.code, answered.message, answered.data);
    },
    progress: (progress) => caller.notify({ kind: "progress", progress } satisfies DeviceCallback),
    log: (entry) => caller.notify({ kind: "log", entry } satisfies DeviceCallback),
  };
}

/** Passes the callbacks of a program to the relay of this node's caller. */
export function relayCallbacks(relay: Relay | undefined): Callbacks | undefined {
  if (relay === undefined) return undefined;
  return {
    async request(body, signal) {
      const callback = body as DeviceCallback;
      if (callback.kind !== "question") throw unexpected(callback);
      return await answerTo(relay, callback.question, signal);
    },
    notify(body) {
      const callback = body as DeviceCallback;
      if (callback.kind === "progress") relay.progress(callback.progress);
      else if (callback.kind === "log" && isObject(callback.entry)) relay.log(callback.entry);
    },
  };
}

async function answerTo(relay: Relay, question: Question, signal: Cancellation): Promise<QuestionAnswer> {
  const controller = new AbortController();
  signal.addEventListener("abort", () => controller.abort());
  try {
    return { answer: await relay.ask(question, controller.signal) };
  } catch (error) {
    const refused = jsonRpcErrorOf(error);
    if (refused === undefined) throw error;
    return { ...refused, message: messageOf(error) };
  }
}

/** Makes the calls of an action when the node that holds the device requests them. */
export function stepCallbacks({ call }: ControlOptions): Callbacks {
  return {
    async request(body) {
      const callback = body as DeviceCallback;
      if (callback.kind !== "step") throw unexpected(callback);
      return await call(callback.tool, callback.arguments, callback.unlisted);
    },
    notify: () => undefined,
  };
}

/** A node of a newer version may send callbacks that this one does not know. */
function unexpected({ kind }: DeviceCallback): TendonError {
  return new TendonError(
    "internal",
    `this node does not support the callback \`${kind}\`; run the same version on all nodes`,
  );
}
