/** The event log in the store: finished calls are read from the history, other events from a table of their own. */
import type { EventType } from "@tendon/protocol";
import type { CallRecord, Store, StoredEvent } from "../store/store.ts";
import type { EventLog } from "./event-buffer.ts";
import { finishedCallEvent } from "./event-types.ts";

export function storedEventLog(store: Store, nodeId: string): EventLog {
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
  return finishedCallEvent(event, at, { callId, device, tool, principal, outcome, queuedMs, durationMs });
}
