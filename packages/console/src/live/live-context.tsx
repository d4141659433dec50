import { useQueryClient } from "@tanstack/react-query";
import type { EventType, GatewayEvent } from "@tendon/protocol";
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { keepFresh } from "./freshness.ts";
import { Live, type LiveState } from "./live.ts";

const Context = createContext<Live | undefined>(undefined);

export function LiveProvider({
  onSignedOut,
  children,
}: {
  readonly onSignedOut: () => void;
  readonly children: ReactNode;
}) {
  const client = useQueryClient();
  const [live] = useState(() => new Live(() => void client.invalidateQueries(), onSignedOut));
  useEffect(() => {
    const stopFreshness = keepFresh(live, client);
    const stop = live.start();
    return () => {
      stop();
      stopFreshness();
    };
  }, [live, client]);
  return <Context value={live}>{children}</Context>;
}

function useLiveSource(): Live {
  const live = useContext(Context);
  if (live === undefined) throw new TypeError("useLive outside of LiveProvider");
  return live;
}

export function useLive(): LiveState {
  const live = useLiveSource();
  return useSyncExternalStore(live.onState, () => live.state);
}

/** Whether the data on the page is up to date. */
export function useIsLive(): boolean {
  return useLive().kind === "live";
}

/** Calls the handler for every event of these types while the component is mounted. */
export function useEvents(types: readonly EventType[], handle: (event: GatewayEvent) => void): void {
  const live = useLiveSource();
  const current = useRef({ types, handle });
  current.current = { types, handle };
  useEffect(
    () =>
      live.onEvent((event) => {
        if (current.current.types.includes(event.type)) current.current.handle(event);
      }),
    [live],
  );
}

/** The matching events since the page was opened, newest first. */
export function useRecentEvents(fits: (event: GatewayEvent) => boolean): readonly GatewayEvent[] {
  const live = useLiveSource();
  const recent = useSyncExternalStore(
    (changed) => live.onEvent(changed),
    () => live.recent,
  );
  return recent.filter(fits).reverse();
}
