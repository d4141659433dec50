import type { GatewayEvent } from "@tendon/protocol";
import { createParser } from "eventsource-parser";
import { OperationError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, print } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface WatchOptions extends TargetOptions {
  readonly device?: string;
  readonly type?: string;
  readonly json?: boolean;
}

const firstPauseMs = 500;
const maxPauseMs = 10_000;

/** Runs until it is interrupted. After a lost connection it reconnects and resumes after the last event. */
export async function watch(options: WatchOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  // A pipe that is closed (`tendon watch | head`) is the end, not an error.
  process.stdout.on("error", () => stop.abort());
  const query = new URLSearchParams();
  if (options.type !== undefined) query.set("type", options.type);
  if (options.device !== undefined) query.set("device", await idOf(client, options.device));
  let lastId = "";
  let pause = 0;
  while (!stop.signal.aborted) {
    try {
      const headers: Record<string, string> = lastId === "" ? {} : { "last-event-id": lastId };
      const response = await client.open(`/events?${query}`, headers, stop.signal);
      // Events may be rare. This line tells a person or a script that events are received from now on.
      complain(pause === 0 ? "watching; press Ctrl+C to stop" : "watching again");
      pause = firstPauseMs;
      for await (const event of readEvents(response, stop.signal)) {
        if (event === "reset") {
          complain("some events were lost");
          continue;
        }
        lastId = event.id;
        show(event, options.json === true);
      }
    } catch (error) {
      if (stop.signal.aborted) return;
      // A failed first attempt ends the command; later attempts wait until the gateway is back.
      if (pause === 0) throw error;
      if (error instanceof OperationError && error.problem !== undefined) throw error;
    }
    if (stop.signal.aborted) return;
    complain(`connection lost, retrying in ${pause / 1000} s`);
    await sleep(pause, stop.signal);
    pause = Math.min(pause * 2, maxPauseMs);
  }
}

async function idOf(client: GatewayClient, device: string): Promise<string> {
  return (await client.get<{ id: string }>(`/devices/${encodeURIComponent(device)}`)).id;
}

async function* readEvents(response: Response, signal: AbortSignal): AsyncGenerator<GatewayEvent | "reset"> {
  const ready: (GatewayEvent | "reset")[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) =>
      ready.push(event === "reset" ? "reset" : (JSON.parse(data) as GatewayEvent)),
  });
  const decoder = new TextDecoder();
  if (response.body === null) return;
  for await (const chunk of response.body) {
    if (signal.aborted) return;
    parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    yield* ready.splice(0);
  }
}

function show(event: GatewayEvent, json: boolean): void {
  if (json) {
    print(JSON.stringify(event));
    return;
  }
  const time = event.at.slice(11, 23);
  const details = Object.entries(event.data)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
  print(`${colours.dim(time)}  ${event.type.padEnd(20)}  ${event.device ?? ""}  ${plain(details)}`);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
