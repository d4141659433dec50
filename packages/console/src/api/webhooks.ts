/** Queries and changes of webhooks. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  DeliveryList,
  NewWebhook,
  ReplayResult,
  WebhookChange,
  WebhookList,
  WebhookRequest,
  WebhookTestResult,
  WebhookView,
} from "@tendon/protocol";
import { api, inPath } from "./client.ts";
import { keys } from "./queries.ts";
import { useSession } from "./session.tsx";

/** No event announces a delivery, so the lists are polled. */
const lookEveryMs = 3_000;
const shownDeliveries = 20;

export function useWebhooks() {
  const { may } = useSession();
  return useQuery({
    queryKey: keys.webhooks,
    queryFn: ({ signal }) => api<WebhookList>("/webhooks", { signal }),
    enabled: may("admin"),
    refetchInterval: lookEveryMs,
  });
}

export function useDeliveries(id: string) {
  return useQuery({
    queryKey: keys.deliveries(id),
    queryFn: ({ signal }) => api<DeliveryList>(`${path(id)}/deliveries?limit=${shownDeliveries}`, { signal }),
    refetchInterval: lookEveryMs,
  });
}

export function useWebhookCreation() {
  return useChange((request: WebhookRequest) =>
    api<NewWebhook>("/webhooks", { method: "POST", body: request }),
  );
}

export function useWebhookChange(id: string) {
  return useChange((change: WebhookChange) => api<WebhookView>(path(id), { method: "PATCH", body: change }));
}

export function useWebhookTest(id: string) {
  return useChange(() => api<WebhookTestResult>(`${path(id)}/test`, { method: "POST" }));
}

export function useSecretRotation(id: string) {
  return useChange(() => api<NewWebhook>(`${path(id)}/rotate`, { method: "POST" }));
}

export function useReplay(id: string) {
  return useChange((since: string) =>
    api<ReplayResult>(`${path(id)}/replay`, { method: "POST", body: { since } }),
  );
}

export function useWebhookDeletion(id: string) {
  return useChange(() => api(path(id), { method: "DELETE" }));
}

function path(id: string): string {
  return `/webhooks/${inPath(id)}`;
}

/** A request after which the lists are read again. */
function useChange<Value, Answer>(send: (value: Value) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () => client.invalidateQueries({ queryKey: keys.webhooks }),
  });
}
