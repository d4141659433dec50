/** The parts of the gateway that are not ready, with reasons. The result is public. */
import type { Clock } from "../../clock.ts";
import type { Store } from "../../store/store.ts";

export interface Parts {
  readonly clock: Clock;
  readonly store: Store;
  readonly mqtt: { unready(): string | undefined };
  readonly cluster:
    | { readonly isolated: () => boolean; readonly health: { unready(): string | undefined } }
    | undefined;
  readonly stopping: boolean;
}

const pingTimeoutMs = 1_000;

export async function unreadyParts({
  clock,
  store,
  mqtt,
  cluster,
  stopping,
}: Parts): Promise<Record<string, string>> {
  const found: [string, string | undefined][] = [
    ["gateway", ofGateway(stopping, cluster?.isolated() === true)],
    ["mqtt", mqtt.unready()],
    ["cluster", cluster?.health.unready()],
    ["storage", (await answers(clock, store)) ? undefined : "the database does not answer"],
  ];
  return Object.fromEntries(
    found.flatMap(([part, why]) => (why === undefined ? [] : [[part, why] as const])),
  );
}

/** What concerns this node alone: the other nodes are ready. */
function ofGateway(stopping: boolean, isolated: boolean): string | undefined {
  if (stopping) return "the gateway is stopping";
  return isolated ? "the node is cut off from the others" : undefined;
}

function answers(clock: Clock, store: Store): Promise<boolean> {
  if (store.state.unavailable) return Promise.resolve(false);
  return new Promise((resolve) => {
    const timer = clock.after(pingTimeoutMs, () => resolve(false));
    const end = (answered: boolean) => {
      timer.cancel();
      resolve(answered);
    };
    store.ping().then(
      () => end(true),
      () => end(false),
    );
  });
}
