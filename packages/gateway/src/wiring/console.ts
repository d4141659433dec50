/** Opens the console and gives it its data. */
import { randomBytes } from "node:crypto";
import type { Authentication, Tokens } from "../access/access.ts";
import { type Addresses, otaProblem } from "../addresses.ts";
import { type Console, consoleRoutes, type Http, type Services } from "../agent/agent.ts";
import type { Audit } from "../audit/audit.ts";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { FrameLog } from "../device/device.ts";
import type { Events } from "../events/events.ts";
import type { Store } from "../store/store.ts";
import { version } from "../version.ts";
import { framesOfAllNodes } from "./cluster-frames.ts";

export interface ConsoleDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Store;
  readonly services: Services;
  readonly tokens: Tokens;
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly frames: FrameLog;
  readonly cluster: Cluster | undefined;
  readonly addresses: () => Addresses;
  /** The host on which the gateway listens, and its public address. */
  readonly listening: { readonly host: string; readonly publicUrl?: string };
  /** Whether a voice server is configured. */
  readonly voice: boolean;
  readonly startDemoDevice: (() => Promise<string>) | undefined;
  /** How the command is typed on this machine. */
  readonly command: string;
}

/** Calls of earlier runs for the overview: about one call per second for a day, read in well under a second. */
const maxCallsRead = 100_000;

export async function openConsole(http: Http, dependencies: ConsoleDependencies): Promise<Console> {
  const { store, frames, cluster, addresses, listening, voice, startDemoDevice, command, ...rest } =
    dependencies;
  // Stored, so that it stays the same after a restart.
  const instanceId = await store.settings.getOrMake("instance_id", () => randomBytes(6).toString("hex"));
  return await consoleRoutes(http, {
    ...rest,
    startDemoDevice,
    sessionStorage: store.consoleSessions,
    codeStorage: store.signInCodes,
    callHistory: (span, take) => store.calls.finishedIn({ ...span, limit: maxCallsRead }, take),
    onlineAlready: rest.services.fleet.sessions().length,
    frames: framesOfAllNodes(cluster, frames),
    instanceId: String(instanceId),
    about() {
      const { public: url, ota, mqtt } = addresses();
      const problem = otaProblem({ ota, host: listening.host, publicUrl: listening.publicUrl });
      const demo = startDemoDevice !== undefined;
      return { version, url, ota, ...(problem && { otaProblem: problem }), mqtt, command, demo, voice };
    },
  });
}
