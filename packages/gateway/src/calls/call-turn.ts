import { type JsonObject, limits } from "@tendon/protocol";
import { newCallId } from "../call-ids.ts";
import type { Clock } from "../clock.ts";
import type { CallOptions } from "./calls.ts";

interface TurnSettings {
  readonly clock: Clock;
  readonly defaultTimeoutMs: number;
}

export const photoTool = "self.camera.take_photo";
/** A photo is taken, uploaded and explained before the device answers; the firmware itself waits 60 s for that. */
const photoTimeoutMs = 75_000;

/** One call's identity and clock: its deadline runs from its arrival, whatever it waits for. */
export class CallTurn {
  readonly callId: string;
  /** The arguments as JSON, written once for their size and their digest. */
  readonly argumentText: string;
  readonly timeoutMs: number;
  readonly given: CallOptions;
  /** The grant that let it through. */
  approval: string | undefined;
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(settings: TurnSettings, tool: string, args: JsonObject, options: CallOptions) {
    this.callId = options.callId ?? newCallId();
    this.argumentText = writeArguments(args);
    this.#clock = settings.clock;
    this.#startedAt = settings.clock.monotonic();
    this.given = options;
    const standard =
      tool === photoTool ? Math.max(photoTimeoutMs, settings.defaultTimeoutMs) : settings.defaultTimeoutMs;
    this.timeoutMs = Math.min(options.timeoutMs ?? standard, limits.callTimeoutMs.max);
  }

  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  get vision(): JsonObject | undefined {
    return this.given.vision;
  }

  options(): CallOptions & { timeoutMs: number } {
    return {
      timeoutMs: Math.max(1, Math.ceil(this.timeoutMs - this.elapsedMs)),
      signal: this.given.signal,
      envelope: this.given.envelope,
      lane: this.given.lane,
      relay: this.given.relay,
    };
  }
}

function writeArguments(args: JsonObject): string {
  try {
    return JSON.stringify(args);
  } catch {
    // Nested too deeply even to be written: refused long before it could reach a device.
    return "";
  }
}
