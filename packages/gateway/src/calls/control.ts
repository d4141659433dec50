/**
 * device_control [CTL-1…8]: an app's action or function call becomes tool calls on the device it names, and always
 * one answer. The native tool is used where the device has it; otherwise the action is put together from others,
 * one at a time per device, so that two steps at once neither race nor overshoot.
 */
import {
  type Actions,
  type Adjust,
  type ControlRequest,
  type ControlResponse,
  isObject,
  isRequestId,
  type JsonObject,
  type KnownAction,
  type Mute,
  messageFields,
  misspeltArguments,
  readArguments,
  type ToolResult,
  type Unmute,
} from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { RemoteSession } from "../fleet/fleet.ts";
import type { CallOptions, Calls } from "./calls.ts";
import { DeviceLock } from "./device-lock.ts";
import type { MuteMemory } from "./mute-memory.ts";

export interface ControlNeeds {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly muted: MuteMemory;
  readonly actions: Actions;
  readonly defaultTimeoutMs: number;
  /** The connection of a device that another node holds. */
  readonly elsewhere: (device: string) => RemoteSession | undefined;
  /** Throws `device_unknown`. */
  readonly identify: (principal: Principal, reference: string) => string;
  /** Whether the device has the tool; of one that has just come, when it has been listed. */
  readonly hasTool: (device: string, tool: string, options: CallOptions) => Promise<boolean>;
}

interface Job {
  readonly principal: Principal;
  readonly device: string;
  readonly options: () => CallOptions & { readonly timeoutMs: number };
  /** The tools called so far, for the answer. */
  readonly tools: string[];
}

export class Control {
  readonly #needs: ControlNeeds;
  readonly #turns: DeviceLock;
  #lastRequestMs = 0;

  constructor(needs: ControlNeeds) {
    this.#needs = needs;
    this.#turns = new DeviceLock(needs.clock);
  }

  /** Never throws for what the message or the device gets wrong: that is an answer too. */
  async run(
    principal: Principal,
    reference: string,
    message: ControlRequest,
    signal?: CallOptions["signal"],
  ): Promise<ControlResponse> {
    const request_id = message.request_id ?? this.#newRequestId();
    const head = { type: "device_control_response" as const, request_id };
    const tools: string[] = [];
    let named: { action?: string; function?: string } = namesOf(message, undefined);
    try {
      const action = this.#resolve(message);
      named = namesOf(message, action);
      const device = this.#needs.identify(principal, reference);
      const timeoutMs = message.timeoutMs ?? this.#needs.defaultTimeoutMs;
      // Steps of one device follow one another where the device is.
      const far = this.#needs.elsewhere(device);
      if (far !== undefined) {
        return await far.control(principal, { ...message, request_id }, timeoutMs, signal);
      }
      const deadline = this.#needs.clock.monotonic() + timeoutMs;
      const envelope = { timestamp: isoTime(this.#needs.clock.now()), request_id };
      const options: Job["options"] = () => ({
        timeoutMs: Math.max(1, Math.ceil(deadline - this.#needs.clock.monotonic())),
        signal,
        envelope,
      });
      const job: Job = { principal, device, options, tools };
      const work = this.#workOf(message, action);
      const result = await this.#turns.run(device, () => work(job), options());
      return { ...head, ...named, tools, ok: true, result };
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      const { code, title, message: detail, context } = error;
      return { ...head, ...named, tools, ok: false, code, title, detail, ...context };
    }
  }

  /** [CTL-4] The answer to a message that cannot be carried out, whatever it is. */
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
      code: error.code,
      title: error.title,
      detail: error.message,
      ...error.context,
    };
  }

  /** [CTL-2] `undefined` is a function nobody mapped: it is passed on under its own name. */
  #resolve(message: ControlRequest): KnownAction | undefined {
    if (message.function_call !== undefined)
      return this.#needs.actions.byFunction(message.function_call.name);
    const name = message.action ?? message.command ?? "";
    const action = this.#needs.actions.byName(name);
    if (action !== undefined) return action;
    throw new TendonError("action_unknown", `no action is called \`${name}\``, {
      known: this.#needs.actions.names,
    });
  }

  /** What is to be done, as far as the message alone can tell: its mistakes wait for no turn. */
  #workOf(message: ControlRequest, action: KnownAction | undefined): (job: Job) => Promise<ToolResult> {
    if (action === undefined) return (job) => this.#passOn(job, message);
    const fields = fieldsOf(message);
    const read = readArguments(action, fields);
    if (read.ok) return (job) => this.#carryOut(job, action, read.arguments);
    const [first] = read.problems;
    const hint = misspeltArguments(Object.keys(fields), argumentNames(action));
    throw new TendonError("arguments_invalid", `${first?.path} ${first?.message}${hint}`, {
      errors: [...read.problems],
    });
  }

  async #carryOut(job: Job, { tool, compose }: KnownAction, args: JsonObject): Promise<ToolResult> {
    const native = compose === undefined || (await this.#needs.hasTool(job.device, tool, job.options()));
    if (!native && compose.adjust !== undefined) return await this.#adjust(job, compose.adjust, args);
    if (!native && compose.mute !== undefined) return await this.#mute(job, compose.mute);
    if (!native && compose.unmute !== undefined) return await this.#unmute(job, compose.unmute);
    return await this.#call(job, tool, args);
  }

  async #passOn(job: Job, { function_call }: ControlRequest): Promise<ToolResult> {
    const { name = "", arguments: args = {} } = function_call ?? {};
    return await this.#call(job, name, args, true);
  }

  async #adjust(job: Job, rule: Adjust, args: JsonObject): Promise<ToolResult> {
    const previous = await this.#read(job, rule.read);
    const given = args[rule.by.argument];
    const step = typeof given === "number" ? given : rule.by.default;
    const wanted = rule.by.direction === "up" ? previous + step : previous - step;
    const level = Math.min(rule.maximum, Math.max(rule.minimum, wanted));
    await this.#call(job, rule.write.tool, { [rule.write.argument]: level });
    return levelResult(rule.write.argument, level, previous);
  }

  /** [CTL-6] Muting twice keeps the first level. */
  async #mute(job: Job, rule: Mute): Promise<ToolResult> {
    const remembered = await this.#needs.muted.level(job.device, rule.write.tool);
    const previous = remembered ?? (await this.#read(job, rule.read));
    try {
      await this.#call(job, rule.write.tool, { [rule.write.argument]: rule.to });
    } catch (error) {
      // The device may be mute all the same, and nobody else knows the level it had.
      if (mayBeDone(error)) this.#needs.muted.remember(job.device, rule.write.tool, previous);
      throw error;
    }
    this.#needs.muted.remember(job.device, rule.write.tool, previous);
    return levelResult(rule.write.argument, rule.to, previous);
  }

  /** [CTL-7] With nothing remembered there is nothing to restore, and that is fine. */
  async #unmute(job: Job, rule: Unmute): Promise<ToolResult> {
    const level = await this.#needs.muted.level(job.device, rule.write.tool);
    if (level === undefined)
      return { content: [{ type: "text", text: "nothing to restore" }], isError: false };
    await this.#call(job, rule.write.tool, { [rule.write.argument]: level });
    return levelResult(rule.write.argument, level, undefined);
  }

  async #read(job: Job, from: Adjust["read"]): Promise<number> {
    const { structuredContent } = await this.#call(job, from.tool, {});
    let value: unknown = structuredContent;
    for (const key of from.path.split(".")) value = isObject(value) ? value[key] : undefined;
    if (typeof value === "number") return value;
    throw new TendonError("device_error", `\`${from.tool}\` does not tell \`${from.path}\``, { sent: true });
  }

  /** What the tool itself calls a failure fails the action. */
  async #call(job: Job, tool: string, args: JsonObject, unlisted = false): Promise<ToolResult> {
    job.tools.push(tool);
    const { calls } = this.#needs;
    const options = { ...job.options(), unlisted };
    const { result } = await calls.call(job.principal, job.device, tool, args, options);
    if (result.isError) throw new TendonError("device_error", textOf(result), { sent: true, result });
    return result;
  }

  /** Milliseconds, as existing apps write them; counted on where two would fall into the same one. */
  #newRequestId(): string {
    this.#lastRequestMs = Math.max(this.#lastRequestMs + 1, this.#needs.clock.now());
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

function fieldsOf(message: ControlRequest): JsonObject {
  if (message.function_call !== undefined) return message.function_call.arguments ?? {};
  return Object.fromEntries(Object.entries(message).filter(([key]) => !messageFields.has(key)));
}

function argumentNames(action: KnownAction): string[] {
  return Object.entries(action.arguments).flatMap(([name, { aliases = [] }]) => [name, ...aliases]);
}

function levelResult(name: string, level: number, previous: number | undefined): ToolResult {
  return {
    content: [{ type: "text", text: String(level) }],
    isError: false,
    structuredContent: { [name]: level, ...(previous === undefined ? {} : { previous }) },
  };
}

/** Sent, and nothing came back that says otherwise. */
function mayBeDone(error: unknown): boolean {
  return error instanceof TendonError && error.context["sent"] === true && error.code !== "device_error";
}

function textOf(result: ToolResult): string {
  const [first] = result.content;
  return first?.type === "text" ? first.text : "the tool failed";
}
