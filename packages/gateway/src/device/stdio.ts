/** Programs as devices [PRC-1…8]: each is started with the gateway, kept running, and ended with it. */

import { limits } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import type { Events } from "../events/events.ts";
import { type ProcessPipes, type ProcessSettings, SupervisedProcess } from "./child-process.ts";
import type { SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { LineDialect } from "./line-dialect.ts";
import { LineReader } from "./line-reader.ts";
import { McpDialect, type McpEra } from "./mcp-dialect.ts";
import { ProcessSession } from "./process-session.ts";

export interface StdioSettings extends ProcessSettings {
  readonly alias: string;
  readonly protocol: "lines" | "mcp";
}

export interface StdioNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly queueLimit: number;
  readonly random: () => number;
  /** What the program inherits; nothing else of ours reaches it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly frames: Pick<FrameLog, "note">;
}

const longestStderrLine = 2_048;

export class StdioDevice {
  readonly #settings: StdioSettings;
  readonly #needs: StdioNeeds;
  readonly #process: SupervisedProcess;
  readonly #era: McpEra;
  #session: ProcessSession | undefined;
  #readyTimer: Timer | undefined;
  /** Why we ended it, where it was we who did. */
  #killedBecause: string | undefined;
  #stopping = false;

  constructor(settings: StdioSettings, needs: StdioNeeds) {
    this.#settings = settings;
    this.#needs = needs;
    // One that is not started again must not be lost by asking.
    this.#era = { asks: settings.restart === "always" };
    const user = {
      started: (pipes: ProcessPipes) => this.#started(pipes),
      farewell: () => this.#session?.farewell(),
      ended: (reason: string) => this.#ended(reason),
    };
    this.#process = new SupervisedProcess(settings, user, needs.clock, needs.random);
  }

  start(): void {
    this.#process.start(this.#needs.environment);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#process.stop();
  }

  #started({ stdin, stdout, stderr }: ProcessPipes): void {
    const { clock, events, owner, queueLimit, random, frames } = this.#needs;
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
      frames,
      kill: (why) => this.#kill(why),
      speak: (speaker) =>
        protocol === "mcp" ? new McpDialect(speaker, this.#era) : new LineDialect(speaker),
    });
    this.#session = session;
    stdout.on("data", (chunk: Buffer) => session.receive(chunk));
    const log = new LineReader(
      longestStderrLine,
      (line) => events.processSaid(alias, line),
      () => undefined,
    );
    stderr.on("data", (chunk: Buffer) => log.push(chunk));
    this.#readyTimer = clock.after(limits.processReadyMs.max, () => {
      if (!session.isReady) session.close(1008, "it did not say what it can do in time");
    });
  }

  #kill(why: string): void {
    this.#killedBecause = why;
    this.#process.kill();
  }

  #ended(reason: string): void {
    this.#readyTimer?.cancel();
    const why = this.#killedBecause ?? reason;
    this.#needs.events.processEnded(this.#settings.alias, why, this.#stopping);
    this.#session?.ended(why);
    this.#session = undefined;
  }
}
