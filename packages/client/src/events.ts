/** The events of a gateway, with reconnection: after a lost connection the next one resumes after the last event. */
import type { EventType, GatewayEvent } from "@tendon/protocol";
import { createParser } from "eventsource-parser";
import { NotAGatewayError, TendonApiError } from "./errors.ts";
import type { Http } from "./http.ts";
import { pause } from "./pause.ts";

export interface EventSettings {
  readonly types?: readonly EventType[] | undefined;
  /** The id or the alias of a device. */
  readonly device?: string | undefined;
  /** The id of the last event that was processed. Without it, events from now on. */
  readonly after?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /** Called when events are received, for the first time and after each reconnection. */
  readonly onOpen?: (() => void) | undefined;
  /** Called when the connection was lost, before the pause. */
  readonly onLost?: ((pauseMs: number) => void) | undefined;
  /** Called if the gateway no longer has all events since the last one: some are lost. */
  readonly onReset?: (() => void) | undefined;
}

const firstPauseMs = 500;
const longestPauseMs = 10_000;

/** Ends with `signal`, or with an error that a retry cannot change, such as a revoked token. */
export async function* readEvents(http: Http, settings: EventSettings): AsyncGenerator<GatewayEvent> {
  const { types, device, signal, onOpen, onLost, onReset } = settings;
  const query = { type: types?.join(","), device };
  let after = settings.after ?? "";
  let pauseMs = firstPauseMs;
  const ended = () => signal?.aborted === true;
  let opened = false;
  while (!ended()) {
    try {
      const headers: Record<string, string> = after === "" ? {} : { "last-event-id": after };
      const response = await http.open("GET", "/events", { query, headers, signal });
      pauseMs = firstPauseMs;
      opened = true;
      onOpen?.();
      for await (const event of parse(response)) {
        if (event === "reset") onReset?.();
        else {
          after = event.id;
          yield event;
        }
      }
    } catch (error) {
      if (ended()) return;
      // The first attempt reports a wrong address or token; later ones wait until the gateway is back.
      if (!opened || !mayPass(error)) throw error;
    }
    if (ended()) return;
    onLost?.(pauseMs);
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof TendonApiError) return error.retryable || error.status >= 500;
  return !(error instanceof NotAGatewayError) || error.status >= 500;
}

async function* parse({ body }: Response): AsyncGenerator<GatewayEvent | "reset"> {
  const ready: (GatewayEvent | "reset")[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) =>
      ready.push(event === "reset" ? "reset" : (JSON.parse(data) as GatewayEvent)),
  });
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    yield* ready.splice(0);
  }
}
