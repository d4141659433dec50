/** The calls of this node that have not ended. */
import type { CallOrigin, CallPhase } from "@tendon/protocol";
import type { CallInProgress } from "./pipeline.ts";
import { principalName } from "./principal-name.ts";

export interface RunningCall {
  readonly callId: string;
  readonly device: string;
  readonly tool: string;
  readonly principal: string;
  readonly elapsedMs: number;
  readonly phase: CallPhase;
  /** As JSON. */
  readonly arguments: string;
  readonly origin: CallOrigin | undefined;
}

export class RunningCalls {
  readonly #calls = new Map<string, CallInProgress>();
  readonly #hasPicture: (callId: string) => boolean;

  /** `hasPicture`: whether the device has uploaded the picture of this running call. */
  constructor(hasPicture: (callId: string) => boolean) {
    this.#hasPicture = hasPicture;
  }

  add(call: CallInProgress): void {
    this.#calls.set(call.context.callId, call);
  }

  remove({ context }: CallInProgress): void {
    this.#calls.delete(context.callId);
  }

  /** Oldest first. */
  list(): RunningCall[] {
    return [...this.#calls.values()].map((call) => this.#view(call));
  }

  find(callId: string): RunningCall | undefined {
    const call = this.#calls.get(callId);
    return call === undefined ? undefined : this.#view(call);
  }

  #view(call: CallInProgress): RunningCall {
    const { record, tool, context } = call;
    const { callId, elapsedMs, phase, argumentText, requested } = context;
    return {
      callId,
      device: record.id,
      tool,
      principal: principalName(call),
      elapsedMs: Math.round(elapsedMs),
      phase: phase === "device" && this.#hasPicture(callId) ? "picture" : phase,
      arguments: argumentText,
      origin: requested.origin,
    };
  }
}
