/**
 * What the history does not keep of the last calls: their arguments, why they failed, and whether an answer came late.
 * In memory only and bounded; older calls are told from the history alone.
 */
import type { GatewayEvent } from "@tendon/protocol";
import { limits } from "@tendon/protocol";

export interface CallTrace {
  /** As JSON; nothing where they were too long. */
  readonly arguments: string | undefined;
  /** What the failure said this time. */
  readonly detail: string | undefined;
  /** Its failure said that nothing went to the device. */
  readonly unsent: boolean;
  late: { readonly at: string; readonly lateMs: number; readonly failed: boolean } | undefined;
}

export class CallTraces {
  readonly #traces = new Map<string, CallTrace>();
  /** Which are kept, in a ring: a map is slow to say which of its keys is the oldest. */
  readonly #kept: string[] = [];
  #next = 0;

  note(callId: string, argumentText: string, detail: string | undefined, unsent: boolean): void {
    const short = argumentText.length <= limits.callStoryArguments.max;
    this.#keep(callId, { arguments: short ? argumentText : undefined, detail, unsent, late: undefined });
  }

  #keep(callId: string, story: CallTrace): void {
    this.#traces.set(callId, story);
    const oldest = this.#kept[this.#next];
    if (oldest !== undefined) this.#traces.delete(oldest);
    this.#kept[this.#next] = callId;
    this.#next = (this.#next + 1) % limits.callStoriesKept.max;
  }

  /** An answer that came too late belongs to a call's story too; so does what the event of another node's call says. */
  hear({ type, at, data }: GatewayEvent): void {
    const { detail } = data;
    const told = type === "call.finished" && typeof detail === "string";
    if (!told && type !== "call.late") return;
    const callId = String(data["callId"]);
    const story = this.#traces.get(callId);
    if (told && story === undefined)
      this.#keep(callId, { arguments: undefined, detail, unsent: false, late: undefined });
    if (!told && story !== undefined)
      story.late = { at, lateMs: Number(data["lateMs"]), failed: data["failed"] === true };
  }

  of(callId: string): CallTrace | undefined {
    return this.#traces.get(callId);
  }
}
