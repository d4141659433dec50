/** Programs as devices [PRC-1…8]. Each is started, supervised and stopped with the gateway. */

import { limits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Events } from "../events/events.ts";
import { type ProcessPipes, type ProcessSettings, SupervisedProcess } from "./child-process.ts";
import type { SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { LineDialect } from "./line-dialect.ts";
import type { McpEra } from "./mcp-dialect.ts";
import { ProcessMcp } from "./process-mcp.ts";
import { ProcessSession } from "./process-session.ts";
import { logStderr } from "./stderr-log.ts";

export interface StdioSettings extends ProcessSettings {
  readonly alias: string;
  readonly protocol: "lines" | "mcp";
}

export interface StdioDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly queueLimit: number;
  readonly random: () => number;
  /** The environment that the program inherits. */
  readonly environment: Readonly<Record<string, string>>;
  readonly frames: Pick<FrameLog, "record">;
}

export class StdioDevice {
  readonly #settings: StdioSettings;
  readonly #dependencies: StdioDependencies;
  readonly #process: SupervisedProcess;
  readonly #era: McpEra;
  #session: ProcessSession | undefined;
  #readyTimer: Timer | undefined;
  /** Why the gateway killed the process. */
  #killedBecause: string | undefined;
  #stopping = false;

  constructor(settings: StdioSettings, dependencies: StdioDependencies) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    // A probe may end the program, so one that is not restarted is not probed.
    this.#era = { probe: settings.restart === "always" };
    const user = {
      started: (pipes: ProcessPipes) => this.#started(pipes),
      requestExit: () => this.#session?.requestExit(),
      ended: (reason: string) => this.#ended(reason),
    };
    this.#process = new SupervisedProcess(settings, user, dependencies.clock, dependencies.random);
  }

  start(): void {
    this.#process.start(this.#dependencies.environment);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#process.stop();
  }

  #started({ stdin, stdout, stderr }: ProcessPipes): void {
    const { clock, events, owner, queueLimit, random, frames } = this.#dependencies;
    const { alias, protocol } = this.#settings;
    this.#killedBecause = undefined;
    const session = new ProcessSession({
      clock,
      events,
      owner,
      deviceId: alias,
      queueLimit,
      random,
      stdin,
      stdout,
      frames,
      kill: (why) => this.#kill(why),
      createDialect: (session) =>
        protocol === "mcp" ? new ProcessMcp(session, this.#era) : new LineDialect(session),
    });
    this.#session = session;
    stdout.on("data", (chunk: Buffer) => session.receive(chunk));
    logStderr(stderr, clock, {
      line: (line) => events.processOutput(alias, line),
      skipped: (lines) => events.processOutputSkipped(alias, lines),
    });
    this.#readyTimer = clock.after(limits.processReadyMs.max, () => {
      if (!session.isReady) session.close(1008, "the process did not list its tools in time");
    });
  }

  #kill(why: string): void {
    this.#killedBecause = why;
    this.#process.kill();
  }

  #ended(reason: string): void {
    this.#readyTimer?.cancel();
    const why = this.#killedBecause ?? reason;
    this.#dependencies.events.processEnded(this.#settings.alias, why, this.#stopping);
    this.#session?.ended(why);
    this.#session = undefined;
  }
}
