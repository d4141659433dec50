/**
 * device_control [CTL-1…8]: an app's action or function call becomes tool calls on the device it names, and always
 * one answer. The native tool is used where the device has it; otherwise the action is put together from others,
 * one at a time per device, so that two steps at once neither race nor overshoot.
 */
import {
  type Actions,
  type ControlRequest,
  type ControlResponse,
  isObject,
  type JsonObject,
  type KnownAction,
  readArguments,
  type ToolResult,
} from "@tendon/protocol";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Principal } from "./access.ts";
import type { CallOptions, Calls } from "./calls.ts";
import { MuteMemory } from "./mute-memory.ts";
import { Turns } from "./turns.ts";

export interface ControlNeeds {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly actions: Actions;
  readonly defaultTimeoutMs: number;
  /** Throws `device_unknown`. */
  readonly identify: (principal: Principal, reference: string) => string;
  readonly hasTool: (device: string, tool: string) => boolean;
}

interface Job {
  readonly principal: Principal;
  readonly device: string;
  readonly options: () => CallOptions;
  /** The tools called so far, for the answer. */
  readonly tools: string[];
}

/** Fields of a message that are never arguments of an action. */
const reserved = new Set([
  "type",
  "action",
  "command",
  "function_call",
  "request_id",
  "session_id",
  "device",
  "timeoutMs",
  "timestamp",
]);

export class Control {
  readonly #needs: ControlNeeds;
  readonly #turns = new Turns();
  readonly #muted = new MuteMemory();
  #lastRequestMs = 0;

  constructor(needs: ControlNeeds) {
    this.#needs = needs;
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
      const deadline = this.#needs.clock.monotonic() + (message.timeoutMs ?? this.#needs.defaultTimeoutMs);
      const envelope = { timestamp: isoTime(this.#needs.clock.now()), request_id };
      const options = (): CallOptions => ({
        timeoutMs: Math.max(1, Math.ceil(deadline - this.#needs.clock.monotonic())),
        signal,
        envelope,
      });
      const job: Job = { principal, device, options, tools };
      const result = await this.#turns.run(device, () => this.#carryOut(job, message, action));
      if (result.isError) throw new TendonError("device_error", textOf(result), { sent: true, result });
      return { ...head, ...named, tools, ok: true, result };
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      const { code, title, message: detail, context } = error;
      return { ...head, ...named, tools, ok: false, code, title, detail, ...context };
    }
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

  async #carryOut(job: Job, message: ControlRequest, action: KnownAction | undefined): Promise<ToolResult> {
    if (action === undefined) return await this.#passOn(job, message);
    const read = readArguments(action, fieldsOf(message));
    if (!read.ok) {
      const [first] = read.problems;
      throw new TendonError("arguments_invalid", `${first?.path} ${first?.message}`, {
        errors: [...read.problems],
      });
    }
    const { compose } = action;
    if (compose === undefined || this.#needs.hasTool(job.device, action.tool)) {
      const result = await this.#call(job, action.tool, read.arguments);
      this.#muted.forget(job.device, action.tool);
      return result;
    }
    if ("adjust" in compose) return await this.#adjust(job, compose.adjust, read.arguments);
    return "mute" in compose ? await this.#mute(job, compose.mute) : await this.#unmute(job, compose.unmute);
  }

  async #passOn(job: Job, message: ControlRequest): Promise<ToolResult> {
    const { name = "", arguments: args = {} } = message.function_call ?? {};
    job.tools.push(name);
    return (
      await this.#needs.calls.call(job.principal, job.device, name, args, {
        ...job.options(),
        unlisted: true,
      })
    ).result;
  }

  async #adjust(job: Job, rule: Adjust, args: JsonObject): Promise<ToolResult> {
    const previous = await this.#read(job, rule.read);
    const given = args[rule.by.argument];
    const step = typeof given === "number" ? given : rule.by.default;
    const wanted = rule.by.direction === "up" ? previous + step : previous - step;
    const level = Math.min(rule.maximum, Math.max(rule.minimum, wanted));
    await this.#call(job, rule.write.tool, { [rule.write.argument]: level });
    this.#muted.forget(job.device, rule.write.tool);
    return levelResult(rule.write.argument, level, previous);
  }

  /** [CTL-6] Muting twice keeps the first level. */
  async #mute(job: Job, rule: Mute): Promise<ToolResult> {
    const remembered = this.#muted.level(job.device, rule.write.tool);
    const previous = remembered ?? (await this.#read(job, rule.read));
    await this.#call(job, rule.write.tool, { [rule.write.argument]: rule.to });
    this.#muted.remember(job.device, rule.write.tool, previous);
    return levelResult(rule.write.argument, rule.to, previous);
  }

  /** [CTL-7] With nothing remembered there is nothing to restore, and that is fine. */
  async #unmute(job: Job, rule: Unmute): Promise<ToolResult> {
    const level = this.#muted.level(job.device, rule.write.tool);
    if (level === undefined)
      return { content: [{ type: "text", text: "nothing to restore" }], isError: false };
    await this.#call(job, rule.write.tool, { [rule.write.argument]: level });
    this.#muted.forget(job.device, rule.write.tool);
    return levelResult(rule.write.argument, level, undefined);
  }

  async #read(job: Job, from: Adjust["read"]): Promise<number> {
    const { structuredContent } = await this.#call(job, from.tool, {});
    let value: unknown = structuredContent;
    for (const key of from.path.split(".")) value = isObject(value) ? value[key] : undefined;
    if (typeof value === "number") return value;
    throw new TendonError("device_error", `\`${from.tool}\` does not tell \`${from.path}\``, { sent: true });
  }

  async #call(job: Job, tool: string, args: JsonObject): Promise<ToolResult> {
    job.tools.push(tool);
    return (await this.#needs.calls.call(job.principal, job.device, tool, args, job.options())).result;
  }

  /** Milliseconds, as existing apps write them; counted on where two would fall into the same one. */
  #newRequestId(): string {
    this.#lastRequestMs = Math.max(this.#lastRequestMs + 1, this.#needs.clock.now());
    return `req_${this.#lastRequestMs}`;
  }
}

type Composed<Kind extends string> = Extract<NonNullable<KnownAction["compose"]>, Record<Kind, unknown>>;
type Adjust = Composed<"adjust">["adjust"];
type Mute = Composed<"mute">["mute"];
type Unmute = Composed<"unmute">["unmute"];

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
  return Object.fromEntries(Object.entries(message).filter(([key]) => !reserved.has(key)));
}

function levelResult(name: string, level: number, previous: number | undefined): ToolResult {
  return {
    content: [{ type: "text", text: String(level) }],
    isError: false,
    structuredContent: { [name]: level, ...(previous === undefined ? {} : { previous }) },
  };
}

function textOf(result: ToolResult): string {
  const [first] = result.content;
  return first?.type === "text" ? first.text : "the tool failed";
}
