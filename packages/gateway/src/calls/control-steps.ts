import {
  type Adjust,
  isObject,
  type JsonObject,
  type Mute,
  type ToolResult,
  type Unmute,
  valueAt,
} from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import {
  type ControlAction,
  type ControlOptions,
  type ControlRunner,
  type DeviceRecord,
  untilListed,
} from "../fleet/fleet.ts";
import { DeviceLock } from "./device-lock.ts";
import type { MutedLevels } from "./muted-levels.ts";

/**
 * The steps of an action, on the node that holds the device. Calls the device's own tool if it has one; otherwise
 * composes the action of other tools. Runs one action at a time per device, so that two actions do not race.
 */
export class ControlSteps implements ControlRunner {
  readonly #clock: Clock;
  readonly #muted: MutedLevels;
  readonly #lock: DeviceLock;

  constructor(clock: Clock, muted: MutedLevels) {
    this.#clock = clock;
    this.#muted = muted;
    this.#lock = new DeviceLock(clock);
  }

  run(record: DeviceRecord, action: ControlAction, options: ControlOptions): Promise<ToolResult> {
    return this.#lock.run(record.id, () => this.#carryOut(record, action, options), options);
  }

  async #carryOut(
    record: DeviceRecord,
    { tool, arguments: args, compose, unlisted }: ControlAction,
    options: ControlOptions,
  ): Promise<ToolResult> {
    const { call } = options;
    const native = compose === undefined || (await this.#hasTool(record, tool, options));
    if (!native && compose.adjust !== undefined) return await this.#adjust(call, compose.adjust, args);
    if (!native && compose.mute !== undefined) return await this.#mute(call, record.id, compose.mute);
    if (!native && compose.unmute !== undefined) return await this.#unmute(call, record.id, compose.unmute);
    return await call(tool, withDefaultStep(record, tool, args, compose?.adjust), unlisted);
  }

  /** Waits for the list of a device that has just connected. */
  async #hasTool(
    record: DeviceRecord,
    tool: string,
    { timeoutMs, signal }: ControlOptions,
  ): Promise<boolean> {
    const waited = await untilListed(this.#clock, record, timeoutMs, signal);
    if (waited === "settled") return record.catalogue.find(tool) !== undefined;
    const detail = `the device had not listed its tools after ${timeoutMs} ms; nothing was sent`;
    throw new TendonError("device_timeout", detail, { phase: "queue", sent: false });
  }

  async #adjust(call: Call, rule: Adjust, args: JsonObject): Promise<ToolResult> {
    const previous = await readLevel(call, rule.read);
    const requested = args[rule.by.argument];
    const step = typeof requested === "number" ? requested : rule.by.default;
    const wanted = rule.by.direction === "up" ? previous + step : previous - step;
    const level = Math.min(rule.maximum, Math.max(rule.minimum, wanted));
    await call(rule.write.tool, { [rule.write.argument]: level }, false);
    return levelResult(rule.write.argument, level, previous);
  }

  /** [CTL-6] Muting twice keeps the first level. */
  async #mute(call: Call, device: string, { read, write, to }: Mute): Promise<ToolResult> {
    const remembered = await this.#muted.level(device, write.tool);
    const previous = remembered ?? (await readLevel(call, read));
    try {
      await call(write.tool, { [write.argument]: to }, false);
    } catch (error) {
      // The device may be muted anyway, and only this step knows the previous level.
      if (mayBeDone(error)) this.#muted.remember(device, write.tool, previous);
      throw error;
    }
    this.#muted.remember(device, write.tool, previous);
    return levelResult(write.argument, to, previous);
  }

  /** [CTL-7] Unmuting without a remembered level changes nothing and is not an error. */
  async #unmute(call: Call, device: string, { write }: Unmute): Promise<ToolResult> {
    const level = await this.#muted.level(device, write.tool);
    if (level === undefined)
      return { content: [{ type: "text", text: "nothing to restore" }], isError: false };
    await call(write.tool, { [write.argument]: level }, false);
    return levelResult(write.argument, level, undefined);
  }
}

type Call = ControlOptions["call"];

/** [CTL-6] A step has the same default with the device's own tool, if that tool takes one. */
export function withDefaultStep(
  { catalogue }: DeviceRecord,
  tool: string,
  args: JsonObject,
  adjust: Adjust | undefined,
): JsonObject {
  if (adjust === undefined || args[adjust.by.argument] !== undefined) return args;
  const properties = catalogue.find(tool)?.inputSchema["properties"];
  const takesStep = isObject(properties) && Object.hasOwn(properties, adjust.by.argument);
  return takesStep ? { ...args, [adjust.by.argument]: adjust.by.default } : args;
}

async function readLevel(call: Call, from: Adjust["read"]): Promise<number> {
  const { structuredContent } = await call(from.tool, {}, false);
  const value = valueAt(structuredContent, from.path);
  if (typeof value === "number") return value;
  throw new TendonError("device_error", `the result of \`${from.tool}\` has no number at \`${from.path}\``, {
    sent: true,
  });
}

function levelResult(name: string, level: number, previous: number | undefined): ToolResult {
  return {
    content: [{ type: "text", text: String(level) }],
    isError: false,
    structuredContent: { [name]: level, ...(previous === undefined ? {} : { previous }) },
  };
}

/** The gateway sent the call, and the device did not report that it failed. */
function mayBeDone(error: unknown): boolean {
  return error instanceof TendonError && error.context["sent"] === true && error.code !== "device_error";
}
