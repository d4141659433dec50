/** `events_wait`: what happens, for agents that cannot be told unasked. Numbers make sure that nothing is missed. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { eventTypes, type GatewayEvent, limits } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../../errors.ts";
import type { Asker } from "../agent-view.ts";
import { givenUp } from "../given-up.ts";
import { progressTo } from "../progress.ts";
import { answer, compactTool, Device, inputOf } from "./compact-tool.ts";

const defaultWaitMs = 25_000;
const longestWaitMs = 50_000;
const eventsAtOnce = 50;
const signOfLifeMs = 10_000;
/** An agent's own calls would wake it at once; whoever wants them asks for them. */
const unasked = new Set(["call.finished"]);

type Wanted = (event: GatewayEvent) => boolean;

export const eventsWait = compactTool(
  {
    name: "events_wait",
    title: "Wait for events",
    description:
      "Waits until something happens on the devices (they come, go, say something, answer late) and returns it. Pass `next` of the answer as `since` the next time, so that nothing is missed; without `since` it waits for what comes from now on. `reset: true` says that some events may be lost.",
    readOnly: true,
    input: inputOf({
      since: Type.Optional(Type.String({ maxLength: 64, description: "`next` of the answer before" })),
      device: Type.Optional(Device),
      types: Type.Optional(
        Type.Array(Type.String({ enum: [...eventTypes] }), {
          description: "Only these; everything but call.finished where it is left out",
        }),
      ),
      timeoutMs: Type.Optional(
        Type.Integer({ minimum: 0, maximum: longestWaitMs, description: "25000 where it is left out" }),
      ),
    }),
  },
  async ({ view, context }, { since, device, types, timeoutMs = defaultWaitMs }) => {
    const { services, principal, events } = view;
    const only = device === undefined ? undefined : services.fleet.device(principal, device).id;
    const wanted: Wanted = (event) =>
      (types === undefined ? !unasked.has(event.type) : types.includes(event.type)) &&
      (only === undefined || only === event.device) &&
      services.fleet.showsEvent(principal, event);
    const from = since ?? events.lastId;
    // What earlier runs of the gateway published is asked for first: nothing may happen unseen after the second look.
    const { earlier: ask = none } = events.since(from) ?? {};
    const earlier = await ask();
    const missed = events.since(from);
    if (earlier === undefined || missed === undefined)
      return answer({ events: [], next: events.lastId, reset: true });
    const already = firstOf([...earlier, ...missed.recent], wanted);
    if (already.length > 0) return answer({ events: already, next: already.at(-1)?.id ?? from });
    const came = await nextEvent(view, wanted, timeoutMs, context);
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

/** The next event, or `undefined` when the time is up or nobody waits any more. */
function nextEvent(
  view: Asker,
  wanted: Wanted,
  timeoutMs: number,
  context: ServerContext,
): Promise<GatewayEvent | undefined> {
  const { clock, events, waits } = view;
  if (waits.count >= limits.eventWaits.max) {
    throw new TendonError("rate_limited", "too many agents wait for events already");
  }
  const signal = givenUp(context);
  const tell = progressTo(context);
  const started = clock.monotonic();
  waits.count += 1;
  return new Promise((resolve) => {
    const end = (event: GatewayEvent | undefined) => {
      waits.count -= 1;
      timer.cancel();
      life?.cancel();
      unsubscribe();
      signal.removeEventListener("abort", giveUp);
      resolve(event);
    };
    const giveUp = () => end(undefined);
    const timer = clock.after(timeoutMs, giveUp);
    const life =
      tell === undefined
        ? undefined
        : clock.every(signOfLifeMs, () =>
            tell({ progress: clock.monotonic() - started, total: timeoutMs, message: "waiting" }),
          );
    const unsubscribe = events.subscribe((event) => {
      if (wanted(event)) end(event);
    });
    signal.addEventListener("abort", giveUp);
  });
}
