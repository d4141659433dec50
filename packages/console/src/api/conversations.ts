/** Talks between boards and their voice server, in numbers. Events say when one begins or ends; the numbers are asked for meanwhile. */

import { useQuery } from "@tanstack/react-query";
import type { VoiceSession, VoiceSessionList } from "@tendon/protocol";
import { useIsLive } from "../live/live-context.tsx";
import { useNow } from "../ui/time.tsx";
import { api } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

const countEveryMs = 1_000;
/** A talk that began before the page had its event stream is found by this. */
const lookEveryMs = 15_000;
/** Numbers of a talk that are older than this are no longer true. */
const trueForMs = 5_000;

export function useTalks() {
  const { may, gateway } = useSession();
  const live = useIsLive();
  const now = useNow();
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: keys.talks,
    queryFn: ({ signal }) => api<VoiceSessionList>("/voice/sessions", { signal }),
    enabled: gateway.voice && may("read"),
    staleTime: countEveryMs,
    refetchInterval: ({ state }) => {
      if (!live) return false;
      return state.data === undefined || state.data.sessions.length === 0 ? lookEveryMs : countEveryMs;
    },
  });
  const talks: readonly VoiceSession[] | undefined = data?.sessions;
  const fresh = live && (talks?.length === 0 || now - dataUpdatedAt < trueForMs);
  return { talks, error, fresh };
}
