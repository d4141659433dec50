import { type CallPhase, type JsonObject, limits } from "@tendon/protocol";
import { newCallId } from "../call-ids.ts";
import type { Clock } from "../clock.ts";
import type { CallOptions } from "./calls.ts";

interface CallDefaults {
  readonly clock: Clock;
  readonly defaultTimeoutMs: number;
}

export const photoTool = "self.camera.take_photo";
/** The device answers after it has taken and uploaded the photo and got its description; the firmware waits 60 s. */
const photoTimeoutMs = 75_000;

/** The id, the options and the deadline of one call. The deadline counts from its arrival, waiting included. */
export class CallContext {
  readonly callId: string;
  /** The arguments as JSON, serialized once for their size and their digest. */
  readonly argumentText: string;
  readonly timeoutMs: number;
  readonly requested: CallOptions;
  /** The id of the approval that the call used. */
  approval: string | undefined;
  phase: CallPhase = "checks";
  /** Milliseconds until the call was allowed, and until it was sent to the device. */
  allowedMs: number | undefined;
  sentMs: number | undefined;
  readonly #clock: Clock;
  readonly #startedAt: number;

  /** `deviceTimeoutMs`: the default deadline of calls to this device, if it has its own. */
  constructor(
    settings: CallDefaults,
    tool: string,
    args: JsonObject,
    options: CallOptions,
    deviceTimeoutMs?: number,
  ) {
    this.callId = options.callId ?? newCallId();
    this.argumentText = writeArguments(args);
    this.#clock = settings.clock;
    this.#startedAt = settings.clock.monotonic();
    this.requested = options;
    const usual = deviceTimeoutMs ?? settings.defaultTimeoutMs;
    const standard = tool === photoTool ? Math.max(photoTimeoutMs, usual) : usual;
    const { timeoutMs = standard, maxTimeoutMs = limits.callTimeoutMs.max } = options;
    this.timeoutMs = Math.min(timeoutMs, maxTimeoutMs, limits.callTimeoutMs.max);
  }

  get elapsedMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  /** All checks have passed. The call waits for its turn now. */
  allowed(): void {
    this.allowedMs = this.elapsedMs;
    this.phase = "queue";
  }

  /** A photo sends two requests. The last one is the call itself. */
  readonly #sent = (): void => {
    this.sentMs = this.elapsedMs;
    this.phase = "device";
  };

  get vision(): JsonObject | undefined {
    return this.requested.vision;
  }

  options(): CallOptions & { timeoutMs: number; onSent: () => void } {
    return {
      timeoutMs: Math.max(1, Math.ceil(this.timeoutMs - this.elapsedMs)),
      signal: this.requested.signal,
      envelope: this.requested.envelope,
      lane: this.requested.lane,
      relay: this.requested.relay,
      onSent: this.#sent,
    };
  }
}

function writeArguments(args: JsonObject): string {
  try {
    return JSON.stringify(args);
  } catch {
    // Too deep for JSON.stringify. `checkArguments` rejects such arguments.
    return "";
  }
}
