/**
 * Runs queued calls when their device is online on this node [QUE-4, QUE-5]: one at a time, in order, after the device
 * has listed its tools. A call is recorded as running before it is sent, so that it never runs twice.
 */
import type { Principal } from "../access/access.ts";
import type { Clock, Timer } from "../clock.ts";
import type { DeviceSession } from "../device/device.ts";
import { messageOf } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Store, StoredQueuedCall } from "../store/store.ts";
import { WriteGroups } from "../write-groups.ts";
import { type CallQueue, isOutage } from "./call-queue.ts";
import type { EndingDetails } from "./queued-call-details.ts";

export interface QueueRunnerDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly store: Pick<Store, "queuedCalls">;
  readonly run: string;
  readonly queue: CallQueue;
  /** The session of a device of this node that has listed its tools. */
  readonly session: (device: string) => DeviceSession | undefined;
  /** The principal of a token while it is valid. */
  readonly principalOf: (id: string) => Principal | undefined;
  /** Checks the call again, records it as running with `take`, and sends it. */
  readonly runCall: (
    principal: Principal,
    call: StoredQueuedCall,
    take: () => Promise<boolean>,
  ) => Promise<QueuedRun>;
}

/** How an attempt to run a queued call ended. */
export interface QueuedRun {
  readonly outcome: string;
  readonly details: EndingDetails;
  /** The call was recorded as running. */
  readonly taken: boolean;
  /** Nothing was sent, and a later attempt may succeed. */
  readonly mayWait: boolean;
}

/** A board on WebSocket is connected for a conversation only: so many calls per connection, with pauses. */
const mostPerWebSocket = 10;
const pauseMs = 200;
const talkFirstMs = 1_500;
/** So many calls run before the live ones, then they alternate. */
const beforeLiveCalls = 10;
const longestHoldMs = 10_000;
/** Until the next attempt, if a call could not be sent although the device is online. */
const againMs = 5_000;
/** While a conversation over MQTT runs. */
const conversationCheckMs = 1_000;
const readAtOnce = 10;

export class QueueRunner {
  readonly #dependencies: QueueRunnerDependencies;
  readonly #reads: WriteGroups<string, StoredQueuedCall[]>;
  readonly #takes: WriteGroups<number, boolean>;
  /** The devices whose calls run now; true if more calls came meanwhile. */
  readonly #active = new Map<string, boolean>();
  readonly #running = new Set<Promise<void>>();
  readonly #ranOn = new WeakMap<DeviceSession, number>();
  /**
   * By device: a call that may be recorded as running although it was not sent, because the database did not answer.
   * Only the device's own run puts it back, so that a call that runs by now is never put back.
   */
  readonly #unsent = new Map<string, number>();
  #stopped = false;

  constructor(dependencies: QueueRunnerDependencies) {
    this.#dependencies = dependencies;
    const { clock, store, run, queue } = dependencies;
    this.#reads = WriteGroups.of(async (devices) => {
      const found = await store.queuedCalls.waiting(devices, readAtOnce, clock.now());
      return devices.map((device) => found.get(device) ?? []);
    });
    this.#takes = WriteGroups.of(async (seqs) => {
      const taken = await store.queuedCalls.take(seqs, run, clock.now());
      return seqs.map((seq) => taken.has(seq));
    });
    queue.onAdded((device) => this.start(device));
  }

  /** Runs what waits for a device, if the device is connected to this node and has listed its tools. */
  start(device: string): void {
    if (this.#stopped || this.#dependencies.session(device) === undefined) return;
    if (this.#active.has(device)) {
      this.#active.set(device, true);
      return;
    }
    this.#active.set(device, false);
    const running = this.#runAll(device).finally(() => {
      this.#running.delete(running);
      const more = this.#active.get(device) === true;
      this.#active.delete(device);
      if (more) this.start(device);
    });
    this.#running.add(running);
  }

  /** Takes no more calls; resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #runAll(device: string): Promise<void> {
    const { clock, events, session: sessionOf } = this.#dependencies;
    const session = sessionOf(device);
    if (session === undefined) return;
    const hold = new Hold(clock, session);
    try {
      await this.#putBack(device);
      if (!(await this.#runWaiting(device, session, hold))) this.#startLater(device);
    } catch (error) {
      if (!isOutage(error)) events.queueFault(messageOf(error));
      this.#startLater(device);
    } finally {
      hold.release();
    }
  }

  /** Returns false if a call could not be sent and must wait for another attempt. */
  async #runWaiting(device: string, session: DeviceSession, hold: Hold): Promise<boolean> {
    const { session: sessionOf } = this.#dependencies;
    const bound =
      session.kind === "esp32" && session.transport === "websocket" ? mostPerWebSocket : undefined;
    for (let ran = 0; ; ) {
      const calls = await this.#reads.add(device);
      if (calls.length === 0) return true;
      for (const call of calls) {
        const before = this.#ranOn.get(session) ?? 0;
        if (bound !== undefined && before >= bound) return true;
        await this.#letTalk(session, before);
        if (this.#stopped || sessionOf(device) !== session) return true;
        if (ran < beforeLiveCalls) hold.start();
        else hold.release();
        if (!(await this.#runOne(call))) return false;
        ran += 1;
        this.#ranOn.set(session, before + 1);
      }
    }
  }

  /** Returns false if the call could not be sent and waits again. */
  async #runOne(call: StoredQueuedCall): Promise<boolean> {
    const { queue, principalOf, runCall } = this.#dependencies;
    const principal = principalOf(call.principal);
    if (principal === undefined) {
      await queue.end(call, "queued", "refused", { detail: "the token was revoked or has expired" });
      return true;
    }
    const take = { tried: false, answered: false };
    const attempt = await runCall(principal, call, async () => {
      take.tried = true;
      const taken = await this.#takes.add(call.seq);
      take.answered = true;
      return taken;
    });
    const { outcome, details, taken, mayWait } = attempt;
    if (taken && !mayWait) {
      await queue.end(call, "running", outcome, details);
      return true;
    }
    // Also if the database did not answer: it may have recorded the call as running.
    if (taken || (take.tried && !take.answered)) {
      this.#unsent.set(call.device, call.seq);
      await this.#putBack(call.device);
      return false;
    }
    // Something else took or ended it, or it has expired.
    if (take.tried) return true;
    if (mayWait) return false;
    await queue.end(call, "queued", "refused", { detail: details.detail, problems: details.problems });
    return true;
  }

  async #putBack(device: string): Promise<void> {
    const { store, run } = this.#dependencies;
    const seq = this.#unsent.get(device);
    if (seq === undefined) return;
    await store.queuedCalls.putBack(seq, run);
    this.#unsent.delete(device);
  }

  /** [QUE-4] A conversation has precedence. Over WebSocket it lasts as long as the connection, so calls only go slowly. */
  async #letTalk(session: DeviceSession, ran: number): Promise<void> {
    const { clock } = this.#dependencies;
    if (session.conversation === undefined) return;
    if (session.transport === "websocket") {
      const sinceHello = clock.now() - session.connectedAt;
      await this.#pause(ran === 0 ? Math.max(0, talkFirstMs - sinceHello) : pauseMs);
      return;
    }
    while (session.conversation !== undefined && !this.#stopped) await this.#pause(conversationCheckMs);
  }

  #startLater(device: string): void {
    this.#dependencies.clock.after(againMs, () => this.start(device));
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    await new Promise<void>((resolve) => {
      this.#dependencies.clock.after(ms, resolve);
    });
  }
}

/** Lets live calls wait while queued ones run, for a bounded time. */
class Hold {
  readonly #clock: Clock;
  readonly #session: DeviceSession;
  #release: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, session: DeviceSession) {
    this.#clock = clock;
    this.#session = session;
  }

  start(): void {
    if (this.#release !== undefined) return;
    this.#release = this.#session.holdLiveCalls();
    this.#timer = this.#clock.after(longestHoldMs, this.#release);
  }

  release(): void {
    this.#timer?.cancel();
    this.#release?.();
  }
}
