/** Events over restarts: calls are found again in the history, everything else in a table of its own. */
import type { EventType } from "@tendon/protocol";
import { type EventJournal, finishedAgain } from "../events.ts";
import type { CallRecord, Store, StoredEvent } from "../store/store.ts";

export function eventJournal(store: Store, nodeId: string): EventJournal {
  return {
    reserve: (count) => store.events.reserve(nodeId, count),
    append: (stream, event) => store.events.append({ stream, ...event }),
    async between(stream, after, before, limit) {
      if (after < ((await store.events.forgotten(stream)) ?? Number.POSITIVE_INFINITY)) return undefined;
      const events = await store.events.between(stream, after, before, limit + 1);
      const calls = await store.calls.eventsBetween(nodeId, after, before, limit);
      if (calls === undefined || events.length + calls.length > limit) return undefined;
      return [...events.map(asPublished), ...calls.map(asFinished)].sort((a, b) => a.sequence - b.sequence);
    },
  };
}

function asPublished({ sequence, type, at, device = "", data }: StoredEvent) {
  // Only `append` above writes them, with these types.
  return { sequence, type: type as EventType, at, device, data: data as Record<string, unknown> };
}

function asFinished({
  id: callId,
  at,
  event = 0,
  device,
  tool,
  principal,
  outcome,
  queuedMs,
  durationMs,
}: CallRecord) {
  return finishedAgain(event, at, { callId, device, tool, principal, outcome, queuedMs, durationMs });
}
