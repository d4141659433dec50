/**
 * device_control [CTL-1…8]: turns an app's action or function call into tool calls on a device, and sends one reply.
 * The node that received the message reads it. The steps run on the node that holds the device, one action at a time.
 * Each call of a step takes the call pipeline of the node that received the message.
 */
import {
  type Actions,
  type ControlRequest,
  type ControlResponse,
  isObject,
  isRequestId,
  type JsonObject,
  type KnownAction,
  messageFields,
  misspeltArguments,
  type QueuedReply,
  readArguments,
  type ToolResult,
  valueAt,
} from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { ControlAction, ControlRunner, DeviceRecord } from "../fleet/fleet.ts";
import type { CallOptions, Calls } from "./calls.ts";
import { withDefaultStep } from "./control-steps.ts";
import { queueRequestOf, type ReplyAddress } from "./queued-call-details.ts";

export interface ControlDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly calls: Calls;
  readonly steps: ControlRunner;
  readonly actions: Actions;
  readonly defaultTimeoutMs: number;
  /** Throws `device_unknown`. */
  readonly findDevice: (principal: Principal, reference: string) => DeviceRecord;
}

export class Control {
  readonly #dependencies: ControlDependencies;
  #lastRequestMs = 0;

  constructor(dependencies: ControlDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Reports errors in the message and of the device in the reply, and does not throw them. `replyTo`: the topic for a
   * second reply, when a queued action has ended.
   */
  async run(
    principal: Principal,
    reference: string,
    message: ControlRequest,
    { signal, origin, replyTo }: Pick<CallOptions, "signal" | "origin"> & { replyTo?: ReplyAddress } = {},
  ): Promise<ControlResponse> {
    const request_id = message.request_id ?? this.#newRequestId();
    const head = { type: "device_control_response" as const, request_id };
    const tools: string[] = [];
    let named: { action?: string; function?: string } = namesOf(message, undefined);
    try {
      const action = await this.#resolve(principal, reference, message);
      named = namesOf(message, action);
      const record = this.#dependencies.findDevice(principal, reference);
      const { clock, calls, events, steps, defaultTimeoutMs } = this.#dependencies;
      const { timeoutMs = defaultTimeoutMs } = message;
      const dueAt = clock.monotonic() + timeoutMs;
      const envelope = { timestamp: isoTime(clock.now()), request_id };
      const call = async (tool: string, args: JsonObject, unlisted: boolean): Promise<ToolResult> => {
        const leftMs = Math.max(1, Math.ceil(dueAt - clock.monotonic()));
        const options = { timeoutMs: leftMs, signal, envelope, unlisted, origin };
        // Listed while it runs, because the reply can be earlier than the end of a step on another node.
        tools.push(tool);
        const { result } = await calls
          .call(principal, record.id, tool, args, options)
          .catch((error) => {
            if (!mayBeSent(error)) tools.pop();
            throw error;
          })
          .finally(() => {
            // Afterwards, because a call waits for the tool list of a device that has just connected.
            if (unlisted && record.catalogue.find(tool) === undefined)
              events.controlUnknown("function", record.id, tool, principal.name);
          });
        // A result with `isError` fails the action.
        if (result.isError) throw new TendonError("device_error", textOf(result), { sent: true, result });
        return result;
      };
      const work = actionOf(message, action);
      if (work instanceof TendonError)
        return await calls.reject(principal, record.id, action?.tool ?? "", fieldsOf(message, action), work);
      const queue = queueRequestOf(message);
      if (queue !== undefined && record.handle === undefined) {
        const reply = replyTo === undefined ? undefined : { ...replyTo, head: { ...head, ...named } };
        const asked = { timeoutMs: message.timeoutMs, envelope, origin, queue: { ...queue, reply } };
        return {
          ...head,
          ...named,
          tools: [],
          ok: true,
          ...(await this.#queue(principal, record, work, asked)),
        };
      }
      const options = { timeoutMs, signal, call };
      // An offline device runs the steps here, so that the first call fails with the pipeline's order of errors.
      const answer = await (record.handle?.control(work, options) ?? steps.run(record, work, options));
      const result = withResultFields(answer, action, work.arguments);
      return { ...head, ...named, tools: [...tools], ok: true, result };
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      return { ...head, ...named, tools: [...tools], ok: false, ...failureOf(error) };
    }
  }

  /** [QUE-1] An action is one queued call, whatever it is composed of. */
  async #queue(
    principal: Principal,
    record: DeviceRecord,
    action: ControlAction,
    options: CallOptions,
  ): Promise<QueuedReply | { readonly tools: string[]; readonly result: ToolResult }> {
    const { calls } = this.#dependencies;
    const { tool, arguments: args, compose, unlisted } = action;
    if (compose !== undefined && record.catalogue.find(tool) === undefined)
      return await calls.queueAction(principal, record.id, action, options);
    const given = withDefaultStep(record, tool, args, compose?.adjust);
    const reply = await calls.callOrQueue(principal, record.id, tool, given, { ...options, unlisted });
    // The device may have come online meanwhile, and has run it.
    return "expiresAt" in reply ? reply : { tools: [tool], result: reply.result };
  }

  /** [CTL-4] The reply to a message that cannot be read or run. */
  refuse(message: unknown, error: TendonError): ControlResponse {
    const { request_id, action, command, function_call } = isObject(message) ? message : {};
    const functionName = isObject(function_call) ? function_call["name"] : undefined;
    const actionName = action ?? command;
    return {
      type: "device_control_response",
      request_id: isRequestId(request_id) ? request_id : this.#newRequestId(),
      ...(typeof actionName === "string" ? { action: actionName } : {}),
      ...(typeof functionName === "string" ? { function: functionName } : {}),
      tools: [],
      ok: false,
      ...failureOf(error),
    };
  }

  /** [CTL-2] Returns `undefined` for a function without a mapping, which the device gets under its own name. */
  async #resolve(
    principal: Principal,
    reference: string,
    message: ControlRequest,
  ): Promise<KnownAction | undefined> {
    const { actions, calls, events } = this.#dependencies;
    if (message.function_call !== undefined) return actions.byFunction(message.function_call.name);
    const name = message.action ?? message.command ?? "";
    const action = actions.byName(name);
    if (action !== undefined) return action;
    const error = new TendonError("action_unknown", `unknown action \`${name}\``, { known: actions.names });
    const device = this.#visibleDevice(principal, reference);
    events.controlUnknown("action", device, name, principal.name);
    if (device === undefined) throw error;
    return await calls.reject(principal, device, name, fieldsOf(message, undefined), error);
  }

  #visibleDevice(principal: Principal, reference: string): string | undefined {
    try {
      return this.#dependencies.findDevice(principal, reference).id;
    } catch {
      return undefined;
    }
  }

  /** Milliseconds, as existing apps use. Incremented if two requests arrive in the same millisecond. */
  #newRequestId(): string {
    this.#lastRequestMs = Math.max(this.#lastRequestMs + 1, this.#dependencies.clock.now());
    return `req_${this.#lastRequestMs}`;
  }
}

function namesOf(
  message: ControlRequest,
  action: KnownAction | undefined,
): { action?: string; function?: string } {
  const actionName = action?.name ?? message.action ?? message.command;
  const functionName = action?.function ?? message.function_call?.name;
  return {
    ...(actionName === undefined ? {} : { action: actionName }),
    ...(functionName === undefined ? {} : { function: functionName }),
  };
}

/** Reads the action's arguments, so that a wrong message fails before the action waits for the device's lock. */
function actionOf(message: ControlRequest, action: KnownAction | undefined): ControlAction | TendonError {
  if (action === undefined) {
    const { name = "", arguments: args = {} } = message.function_call ?? {};
    return { tool: name, arguments: args, compose: undefined, unlisted: true };
  }
  const { tool, compose } = action;
  const fields = fieldsOf(message, action);
  const read = readArguments(action, fields);
  if (read.ok) return { tool, arguments: read.arguments, compose, unlisted: false };
  const [first] = read.problems;
  const hint = misspeltArguments(Object.keys(fields), argumentNames(action));
  return new TendonError("arguments_invalid", `${first?.path} ${first?.message}${hint}`, {
    errors: [...read.problems],
  });
}

/** [CTL-3] The fields of an action are beside it, in `arguments`, or in both. Those beside it have precedence. */
function fieldsOf(message: ControlRequest, action: KnownAction | undefined): JsonObject {
  if (message.function_call !== undefined) return message.function_call.arguments ?? {};
  const isField = ([key, value]: [string, unknown]) => !messageFields.has(key) && value !== null;
  const beside = Object.fromEntries(Object.entries(message).filter(isField));
  const replaced = Object.entries(action?.arguments ?? {})
    .map(([name, { aliases = [] }]) => [name, ...aliases])
    .filter((names) => names.some((name) => Object.hasOwn(beside, name)));
  const nested = Object.entries(message.arguments ?? {}).filter(([key]) => !replaced.flat().includes(key));
  return { ...Object.fromEntries(nested), ...beside };
}

/** [CTL-4] Adds the fields that the action promises in its result, unless the answer has them. */
function withResultFields(answer: ToolResult, action: KnownAction | undefined, args: JsonObject): ToolResult {
  const { structuredContent = {} } = answer;
  const added = Object.entries(action?.result ?? {}).flatMap(([name, { path, argument }]) => {
    const value = path === undefined ? args[argument ?? ""] : valueAt(structuredContent, path);
    return value === undefined || Object.hasOwn(structuredContent, name) ? [] : [[name, value] as const];
  });
  if (added.length === 0) return answer;
  return { ...answer, structuredContent: { ...structuredContent, ...Object.fromEntries(added) } };
}

function argumentNames(action: KnownAction): string[] {
  return Object.entries(action.arguments).flatMap(([name, { aliases = [] }]) => [name, ...aliases]);
}

/** Every error of a call that was sent to the device says so. */
function failureOf({ code, title, message: detail, kind, context }: TendonError) {
  return { code, title, detail, retryable: kind.retryable, ...context };
}

function mayBeSent(error: unknown): boolean {
  return !(error instanceof TendonError) || error.code === "internal" || error.context["sent"] === true;
}

function textOf(result: ToolResult): string {
  const [first] = result.content;
  return first?.type === "text" ? first.text : "the tool returned an error without text";
}
