/** The calls that this page has made and that have not ended. Only these can be cancelled here. */
import { useSyncExternalStore } from "react";

export interface OwnCall {
  /** The page's id of the request, which the gateway reports with the running call. */
  readonly request: string;
  readonly device: string;
  readonly tool: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly cancel: () => void;
}

let calls: readonly OwnCall[] = [];
const listeners = new Set<() => void>();

export function addOwnCall(call: OwnCall): void {
  change([...calls, call]);
}

export function removeOwnCall(request: string): void {
  change(calls.filter((call) => call.request !== request));
}

export function useOwnCalls(): readonly OwnCall[] {
  return useSyncExternalStore(subscribe, () => calls);
}

/** Not `crypto.randomUUID`: browsers offer it only over HTTPS and on this computer. */
export function newRequestId(): string {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 12)}`;
}

function change(next: readonly OwnCall[]): void {
  calls = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
