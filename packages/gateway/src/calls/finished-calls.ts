/**
 * Calls that have ended, told together once a turn of the event loop: to whoever listens, to the metrics, to the
 * history. Whoever asked has its answer by then; told one by one, between other calls' packets, it costs twice as much.
 */
import { hash } from "node:crypto";
import { type JsonObject, limits, upgradeTool } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import type { Events, FinishedCall } from "../events/events.ts";
import type { CallRecord } from "../store/store.ts";
import type { CallTraces } from "./call-traces.ts";
import type { CallTurn } from "./call-turn.ts";

export interface FinishedCallsSettings {
  readonly clock: Clock;
  readonly events: Events;
  /** Where the history is kept. */
  readonly history: { append(call: CallRecord): void };
  readonly traces: CallTraces;
  /** What this gateway is called in the history. */
  readonly nodeId: string;
  /** Whether the history has the arguments themselves. */
  readonly keepArguments: boolean;
}

interface Finished extends Omit<FinishedCall, "callId"> {
  readonly turn: CallTurn;
  readonly args: JsonObject;
  /** What its failure said, or what became of an upgrade. */
  readonly detail: string | undefined;
  /** Its failure said that nothing went to the device. */
  readonly unsent: boolean;
}

export class FinishedCalls {
  readonly #settings: FinishedCallsSettings;
  readonly #tellAll = () => this.#tell();
  #untold: Finished[] = [];
  #lastText: string | undefined;
  #lastDigest = "";

  constructor(settings: FinishedCallsSettings) {
    this.#settings = settings;
  }

  add(call: Finished): void {
    if (this.#untold.push(call) === 1) this.#settings.events.tellSoon(this.#tellAll);
  }

  #tell(): void {
    const { clock, events } = this.#settings;
    const calls = this.#untold;
    this.#untold = [];
    const at = clock.now();
    for (const call of calls) {
      try {
        this.#tellOf(call, at);
      } catch (error) {
        // A listener's fault must not cost the others their line.
        events.notTold(error);
      }
    }
  }

  #tellOf(call: Finished, at: number): void {
    const { events, history, traces, nodeId, keepArguments } = this.#settings;
    const { turn, device, tool, principal, outcome, queuedMs, durationMs } = call;
    const { callId, argumentText } = turn;
    traces.note(callId, argumentText, call.detail, call.unsent);
    // Each is written out: copying one into the other costs more than both.
    const event = events.callFinished(
      { callId, device, tool, principal, outcome, queuedMs, durationMs },
      at,
      tool === upgradeTool ? call.detail : undefined,
    );
    history.append({
      id: callId,
      at,
      device,
      tool,
      principal,
      outcome,
      queuedMs,
      durationMs,
      argumentDigest: this.#digestOf(argumentText),
      // No text: nested too deeply to be written.
      arguments:
        keepArguments && argumentText !== "" && argumentText.length <= limits.historyArguments.max
          ? call.args
          : undefined,
      approval: turn.approval,
      node: nodeId,
      event,
    });
  }

  /** Many calls in a row say the same: a poll of every device's status, a scene for a whole house. */
  #digestOf(text: string): string {
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastDigest = hash("sha256", text);
    }
    return this.#lastDigest;
  }
}
