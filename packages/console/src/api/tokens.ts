/** Queries and changes of tokens. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { NewToken, TokenList, TokenRequest, TokenView } from "@tendon/protocol";
import { useState } from "react";
import { api, inPath } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

/** No event announces that a token was used, so the list is polled. */
const lookEveryMs = 10_000;

export function useTokens() {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => api<TokenList>("/tokens", { signal }),
    enabled: may("admin"),
    refetchInterval: lookEveryMs,
  });
}

/** A new token with a suggested name, which the user may change. */
export function useNewToken(suggested: string, scopes: TokenRequest["scopes"]) {
  const [typed, setTyped] = useState<string>();
  const unused = useUnusedName(suggested);
  const name = typed ?? unused;
  const creation = useTokenCreation();
  const create = (onMade: (token: NewToken) => void) =>
    creation.mutate(
      { name: name.trim(), scopes },
      {
        onSuccess: (token) => {
          setTyped(undefined);
          onMade(token);
        },
      },
    );
  return { name, rename: setTyped, isNamed: name.trim() !== "", creation, create };
}

/** The given name, or the first of `NAME-2`, … that no token has. */
function useUnusedName(first: string): string {
  const names = useTokens().data?.tokens.map(({ name }) => name) ?? [];
  if (!names.includes(first)) return first;
  for (let number = 2; ; number += 1) if (!names.includes(`${first}-${number}`)) return `${first}-${number}`;
}

export function useTokenCreation() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: TokenRequest) => api<NewToken>("/tokens", { method: "POST", body: request }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.tokens }),
  });
}

export function useTokenRevocation({ id }: TokenView, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api(`/tokens/${inPath(id)}`, { method: "DELETE" }),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: keys.tokens });
    },
  });
}
