/**
 * An MCP server over HTTP as a device [HTD-1…]: online while it answers. It is probed, and connected again after growing
 * pauses.
 */
import { limits } from "@tendon/protocol";
import { deviceAddressProblem, type Resolve } from "../checked-addresses.ts";
import type { Clock, Timer } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { OutboundStream } from "../outbound-stream.ts";
import { within } from "../with-deadline.ts";
import type { SessionOwner } from "./device-session.ts";
import type { FrameLog } from "./frame-log.ts";
import { HttpSession, ProbeFailed } from "./http-session.ts";

export interface HttpDeviceSettings {
  readonly alias: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpDeviceDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly owner: SessionOwner;
  readonly queueLimit: number;
  readonly random: () => number;
  readonly frames: Pick<FrameLog, "record">;
  readonly resolve?: Resolve | undefined;
  /** The reason why the server cannot be used, or `undefined` when it can. Called when it changes. */
  readonly onProblem: (problem: string | undefined) => void;
  /** Asked before it connects again. A node that was frozen must not take the device from the one that took over. */
  readonly mayConnect: () => Promise<boolean>;
}

const connectMs = 5_000;
const probeEveryMs = 30_000;
/** After a failed probe, the second one comes sooner. */
const secondProbeMs = 5_000;
const probeTimeoutMs = 10_000;
const readyMs = 30_000;
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
const stableAfterMs = 30_000;
const terminateMs = 1_000;
/** A server that reports no changes is listed again every five minutes. */
const probesPerListing = 10;

export class HttpDevice {
  readonly #settings: HttpDeviceSettings;
  readonly #dependencies: HttpDeviceDependencies;
  readonly #outbound: OutboundStream;
  #session: HttpSession | undefined;
  #pauseMs = firstPauseMs;
  #timer: Timer | undefined;
  #readyTimer: Timer | undefined;
  #connectedAt = 0;
  #failedProbes = 0;
  /** A call had no answer in time, so that the next probe does not wait for running calls. */
  #isSuspect = false;
  #probes = 0;
  #hasStream = false;
  #problem: string | undefined;
  #stopped = false;

  constructor(settings: HttpDeviceSettings, dependencies: HttpDeviceDependencies) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#outbound = new OutboundStream({
      clock: dependencies.clock,
      maxBytes: limits.processLineBytes.max,
      connectMs,
      check: deviceAddressProblem,
      resolve: dependencies.resolve,
      onBytes: (bytes) => this.#session?.countBytes(bytes),
      onStream: (state) => {
        this.#hasStream = state === "open";
        // A server that has stopped ends its stream: the probe finds out at once.
        if (state === "ended" && this.#session?.isReady === true) this.#probeAfter(0);
      },
    });
  }

  start(): void {
    this.#connect();
  }

  async stop(reason: string): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    const session = this.#session;
    if (session !== undefined) {
      await within(this.#dependencies.clock, terminateMs, session.terminate());
      session.close(1001, reason, false);
    }
    this.#outbound.stop();
  }

  #connect(): void {
    const { clock, events, owner, queueLimit, random, frames } = this.#dependencies;
    const { alias: deviceId, url, headers } = this.#settings;
    this.#failedProbes = 0;
    this.#isSuspect = false;
    this.#connectedAt = clock.monotonic();
    let isOpen = true;
    const session = new HttpSession({
      ...{ clock, events, owner, deviceId, queueLimit, random, frames, url, headers },
      outbound: this.#outbound,
      listed: () => this.#report(undefined),
      suspect: () => {
        this.#isSuspect = true;
        this.#probeAfter(0);
      },
      closed: (reason) => {
        if (!isOpen) return;
        isOpen = false;
        this.#ended(reason);
      },
    });
    this.#session = session;
    this.#readyTimer = clock.after(readyMs, () => {
      if (!session.isReady) session.close(1008, "the server did not list its tools in time");
    });
    this.#probeAfter(probeEveryMs);
  }

  #ended(reason: string): void {
    this.#readyTimer?.cancel();
    this.#timer?.cancel();
    this.#session = undefined;
    if (this.#stopped) return;
    this.#report(reason);
    const { clock, random } = this.#dependencies;
    if (clock.monotonic() - this.#connectedAt >= stableAfterMs) this.#pauseMs = firstPauseMs;
    const pause = this.#pauseMs * (0.5 + random());
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    this.#timer = clock.after(pause, () => void this.#connectAgain());
  }

  async #connectAgain(): Promise<void> {
    const mayConnect = await this.#dependencies.mayConnect();
    if (mayConnect && !this.#stopped) this.#connect();
  }

  #probeAfter(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#dependencies.clock.after(ms, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    // While it lists its tools it has another deadline, and small servers do one thing at a time.
    if (!session.isReady || (session.busy && !this.#isSuspect)) {
      this.#probeAfter(probeEveryMs);
      return;
    }
    try {
      await session.probe(probeTimeoutMs);
      if (this.#session !== session) return;
      this.#failedProbes = 0;
      this.#isSuspect = false;
      this.#probes += 1;
      if (this.#probes % probesPerListing === 0 && !this.#hasStream && !session.reportsChanges)
        session.relist();
      this.#probeAfter(probeEveryMs);
    } catch (error) {
      if (this.#session !== session) return;
      this.#failedProbes += 1;
      this.#isSuspect = true;
      const reason = messageOf(error);
      // A server that accepts no connections has stopped; one that is slow gets a second probe.
      const isRefused = error instanceof ProbeFailed && error.isRefused;
      if (isRefused || this.#failedProbes > 1) session.close(1006, reason);
      else this.#probeAfter(secondProbeMs);
    }
  }

  /** Logs a problem once, until it changes. */
  #report(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#dependencies.onProblem(problem);
    if (problem !== undefined)
      this.#dependencies.events.setupFailed(this.#settings.alias, "connect", problem);
  }
}
