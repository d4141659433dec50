/** Calls that continue after their request was answered with a task, and results that only this node has. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { limits } from "@tendon/protocol";
import type { CancellationSource } from "../../cancellation.ts";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { TaskWork } from "./task-ids.ts";

/** The end of a kept task: a result, work that continues in the background, or an error of the protocol. */
export type KeptEnd =
  | { readonly result: CallToolResult }
  | { readonly work: TaskWork }
  | { readonly error: Error };

interface BackgroundCall {
  readonly principal: string;
  readonly cancellation: CancellationSource;
  readonly settled: Promise<void>;
  endedAt: number | undefined;
  /** Only of a kept task. */
  end: KeptEnd | undefined;
}

/** How long a result stays in the memory of this node. */
export const keptMs = 10 * 60_000;

export class BackgroundCalls {
  readonly #clock: Clock;
  readonly #calls = new Map<string, BackgroundCall>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the principal may start one more; its oldest ended ones make room. */
  hasRoom(principal: string): boolean {
    const now = this.#clock.now();
    const own: [string, BackgroundCall][] = [];
    for (const [id, call] of this.#calls) {
      if (call.endedAt !== undefined && now - call.endedAt > keptMs) this.#calls.delete(id);
      else if (call.principal === principal) own.push([id, call]);
    }
    const ended = own.filter(([, call]) => call.endedAt !== undefined);
    const surplus = own.length - limits.mcpTasksPerToken.max + 1;
    if (surplus > ended.length) return false;
    for (const [id] of ended.slice(0, Math.max(0, surplus))) this.#calls.delete(id);
    return true;
  }

  /** Runs a call whose end the history has. */
  run(principal: string, id: string, cancellation: CancellationSource, work: Promise<unknown>): void {
    const forget = () => {
      this.#calls.delete(id);
    };
    const settled = work.then(forget, forget);
    this.#calls.set(id, { principal, cancellation, settled, endedAt: undefined, end: undefined });
  }

  /** Keeps the end of a call in memory. */
  keep(principal: string, id: string, cancellation: CancellationSource, work: Promise<KeptEnd>): void {
    const ended = (end: KeptEnd) => {
      call.endedAt = this.#clock.now();
      call.end = end;
    };
    const settled = work.then(ended, (error: unknown) =>
      ended({ error: error instanceof Error ? error : new TendonError("internal", "the call failed") }),
    );
    const call: BackgroundCall = { principal, cancellation, settled, endedAt: undefined, end: undefined };
    this.#calls.set(id, call);
  }

  forget(id: string): void {
    this.#calls.delete(id);
  }

  kept(principal: string, id: string): Omit<BackgroundCall, "principal"> | undefined {
    const call = this.#calls.get(id);
    return call?.principal === principal ? call : undefined;
  }

  /** Cancels a call that this node runs. */
  cancel(principal: string, id: string): void {
    this.kept(principal, id)?.cancellation.abort();
  }
}
