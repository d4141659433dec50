/** Opens the console with what it shows. */
import { randomBytes } from "node:crypto";
import type { Authentication, Tokens } from "../access/access.ts";
import { type Addresses, otaProblem } from "../addresses.ts";
import { type Console, consoleRoutes, type Http, type Services } from "../agent/agent.ts";
import type { Clock } from "../clock.ts";
import type { FrameLog } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import { version } from "../version.ts";

export interface ConsoleDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Store;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly authentication: Authentication;
  readonly frames: FrameLog;
  readonly addresses: () => Addresses;
  /** Where the gateway listens, and what others are told. */
  readonly listening: { readonly host: string; readonly publicUrl?: string };
  /** Whether there is a voice server that devices talk to. */
  readonly voice: boolean;
  readonly startDemoDevice: (() => Promise<string>) | undefined;
}

/** Of earlier runs, for the overview: about a call a second for a day, read in well under a second. */
const mostCallsRead = 100_000;

export async function openConsole(http: Http, needs: ConsoleDependencies): Promise<Console> {
  const { store, frames, addresses, listening, voice, startDemoDevice, ...rest } = needs;
  // Made with the storage and kept in it.
  const instanceId = await store.settings.getOrMake("instance_id", () => randomBytes(6).toString("hex"));
  return await consoleRoutes(http, {
    ...rest,
    startDemoDevice,
    sessionStorage: store.consoleSessions,
    callHistory: (span, take) => store.calls.endedIn({ ...span, limit: mostCallsRead }, take),
    onlineAlready: rest.services.fleet.sessions().length,
    frames: (device) => frames.of(device),
    instanceId: String(instanceId),
    about() {
      const { public: url, ota, mqtt } = addresses();
      const problem = otaProblem({ ota, host: listening.host, publicUrl: listening.publicUrl });
      const demo = startDemoDevice !== undefined;
      return { version, url, ota, ...(problem && { otaProblem: problem }), mqtt, demo, voice };
    },
  });
}
