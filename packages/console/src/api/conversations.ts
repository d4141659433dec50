/** Conversations of boards with their voice server. Events announce their start and end; their statistics are polled. */

import { useQuery } from "@tanstack/react-query";
import type { VoiceSession, VoiceSessionList } from "@tendon/protocol";
import { useIsLive } from "../live/live-context.tsx";
import { useNow } from "../ui/time.tsx";
import { api } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

const refreshEveryMs = 1_000;
/** Finds conversations that started before the page had its event stream. */
const discoverEveryMs = 15_000;
/** Statistics older than this are out of date. */
const staleAfterMs = 5_000;

export function useConversations() {
  const { may, gateway } = useSession();
  const live = useIsLive();
  const now = useNow();
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: keys.conversations,
    queryFn: ({ signal }) => api<VoiceSessionList>("/voice/sessions", { signal }),
    enabled: gateway.voice && may("read"),
    staleTime: refreshEveryMs,
    refetchInterval: ({ state }) => {
      if (!live) return false;
      return state.data === undefined || state.data.sessions.length === 0 ? discoverEveryMs : refreshEveryMs;
    },
  });
  const conversations: readonly VoiceSession[] | undefined = data?.sessions;
  const fresh = live && (conversations?.length === 0 || now - dataUpdatedAt < staleAfterMs);
  return { conversations, error, fresh };
}
