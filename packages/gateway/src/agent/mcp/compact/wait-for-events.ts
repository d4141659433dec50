/** `events_wait`: events for agents that cannot receive notifications. Event ids make sure that none is missed. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { eventTypes, type GatewayEvent } from "@tendon/protocol";
import Type from "typebox";
import type { Caller } from "../agent-view.ts";
import { progressTo } from "../progress.ts";
import { answer, compactTool, Device, inputOf } from "./compact-tool.ts";

const defaultWaitMs = 25_000;
const maxWaitMs = 50_000;
const eventsAtOnce = 50;
const progressIntervalMs = 10_000;
/** Excluded by default: an agent's own calls would end the wait at once. */
const excludedByDefault = new Set(["call.finished"]);

type Wanted = (event: GatewayEvent) => boolean;

/** Agents get no administrative events. */
const agentEventTypes = eventTypes.filter((type) => type !== "audit.recorded" && type !== "webhook.disabled");

export const eventsWait = compactTool(
  {
    name: "events_wait",
    title: "Wait for events",
    description:
      "Waits for events of the devices, such as connections, disconnections, notifications and late answers, and returns them. Pass `next` of the result as `since` the next time, so that no event is missed; without `since` it waits for new events. `reset: true` means that some events may be lost.",
    readOnly: true,
    input: inputOf({
      since: Type.Optional(Type.String({ maxLength: 64, description: "`next` of the previous result" })),
      device: Type.Optional(Device),
      types: Type.Optional(
        Type.Array(Type.String({ enum: agentEventTypes }), {
          description: "Only these types. Default: all but call.finished",
        }),
      ),
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, maximum: maxWaitMs, description: "Default: 25000" }),
      ),
    }),
  },
  async ({ view, context }, { since, device, types, timeoutMs = defaultWaitMs }) => {
    const { services, principal, events } = view;
    const only = device === undefined ? undefined : services.fleet.device(principal, device).id;
    const wanted: Wanted = (event) =>
      (types === undefined ? !excludedByDefault.has(event.type) : types.includes(event.type)) &&
      (only === undefined || only === event.device) &&
      services.fleet.showsEvent(principal, event);
    const from = since ?? events.lastId;
    // Events of earlier runs are read first, because no event may come unseen after the second `since`.
    const { earlier: ask = none } = events.since(from) ?? {};
    const earlier = await ask();
    const missed = events.since(from);
    if (earlier === undefined || missed === undefined)
      return answer({ events: [], next: events.lastId, reset: true });
    const already = firstOf([...earlier, ...missed.recent], wanted);
    if (already.length > 0) return answer({ events: already, next: already.at(-1)?.id ?? from });
    const waitMs = Math.min(timeoutMs, view.voice?.maxTimeoutMs ?? timeoutMs);
    const came = await nextEvent(view, wanted, waitMs, context);
    return answer({ events: came === undefined ? [] : [came], next: came?.id ?? events.lastId });
  },
);

async function none(): Promise<readonly GatewayEvent[]> {
  return [];
}

function firstOf(missed: readonly GatewayEvent[], wanted: Wanted): GatewayEvent[] {
  const found: GatewayEvent[] = [];
  for (const event of missed) {
    if (wanted(event)) found.push(event);
    if (found.length === eventsAtOnce) break;
  }
  return found;
}

/** The next event, or `undefined` after the timeout or when the client has cancelled. */
function nextEvent(
  view: Caller,
  wanted: Wanted,
  timeoutMs: number,
  context: ServerContext,
): Promise<GatewayEvent | undefined> {
  const { clock, events, waits } = view;
  const leave = waits.take(view.principal);
  const { signal } = context.mcpReq;
  const report = progressTo(context);
  const started = clock.monotonic();
  return new Promise((resolve) => {
    const end = (event: GatewayEvent | undefined) => {
      leave();
      timer.cancel();
      life?.cancel();
      unsubscribe();
      signal.removeEventListener("abort", stopWaiting);
      resolve(event);
    };
    const stopWaiting = () => end(undefined);
    const timer = clock.after(timeoutMs, stopWaiting);
    const life =
      report === undefined
        ? undefined
        : clock.every(progressIntervalMs, () =>
            report({ progress: clock.monotonic() - started, total: timeoutMs, message: "waiting" }),
          );
    const unsubscribe = events.subscribe((event) => {
      if (wanted(event)) end(event);
    });
    signal.addEventListener("abort", stopWaiting);
  });
}
