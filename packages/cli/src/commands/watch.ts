import type { EventSettings } from "@tendon/client";
import type { GatewayEvent } from "@tendon/protocol";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, print } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface WatchOptions extends TargetOptions {
  readonly device?: string;
  readonly type?: string;
  readonly json?: boolean;
}

/** Runs until it is interrupted. After a lost connection it reconnects and resumes after the last event. */
export async function watch(options: WatchOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  // A pipe that is closed (`tendon watch | head`) is the end, not an error.
  process.stdout.on("error", () => stop.abort());
  let opened = false;
  const events = client.events({
    // The gateway checks the types, and its error lists those that exist.
    types: options.type?.split(",") as EventSettings["types"],
    device: options.device === undefined ? undefined : (await client.devices.get(options.device)).id,
    signal: stop.signal,
    onOpen() {
      // Events may be rare. This line tells a person or a script that events are received from now on.
      complain(opened ? "watching again" : "watching; press Ctrl+C to stop");
      opened = true;
    },
    onLost: (pauseMs) => complain(`connection lost, retrying in ${pauseMs / 1000} s`),
    onReset: () => complain("some events were lost"),
  });
  for await (const event of events) show(event, options.json === true);
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
