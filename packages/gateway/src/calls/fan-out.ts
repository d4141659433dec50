/**
 * One call to many devices [CALL-8]. Each device's call takes the ordinary pipeline and has its own result. A call to
 * more than 500 devices becomes a job, whose results the client reads later.
 */
import {
  type FleetReply,
  type FleetResult,
  type FleetTarget,
  type Job,
  type JsonObject,
  limits,
} from "@tendon/protocol";
import { type Principal, requireScope } from "../access/access.ts";
import { newCallId } from "../call-ids.ts";
import { type Cancellation, CancellationSource } from "../cancellation.ts";
import { TendonError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { CallOptions } from "./calls.ts";
import { type FanOutApprovalDependencies, requireApprovalForAll } from "./fan-out-approval.ts";
import { type JobProgress, progressOf } from "./fan-out-progress.ts";
import { queuedResult } from "./queued-call-view.ts";

export interface FanOutCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly options: CallOptions;
  /** A job is stored, as one with queued calls is. */
  readonly durable?: boolean | undefined;
}

export interface FanOutDependencies extends FanOutApprovalDependencies {
  /** The prefix of job ids, which tells other nodes which node runs the job. */
  readonly idPrefix: string;
  readonly targets: (principal: Principal, target: FleetTarget) => string[];
  readonly isOnline: (device: string) => boolean;
  /** Jobs with queued calls survive a restart. */
  readonly store: Pick<Store, "jobs" | "queuedCalls">;
}

interface RunningJob {
  readonly principal: string;
  readonly total: number;
  /** Without those of queued calls, which are in the store. */
  readonly results: FleetResult[];
  /** Whether it is in the store, because calls of it may be queued or the caller asked for it. */
  readonly isStored: boolean;
  endedAt: number | undefined;
}

/** Asks the node that a job's id names; `undefined` if there is no such node or job. */
type ReadRemoteProgress = (principalId: string, job: string) => Promise<JobProgress | undefined>;

const jobKeptMs = 60 * 60 * 1000;
const maxStoredResults = 4 * 1024 * 1024;

export class FanOut {
  readonly #dependencies: FanOutDependencies;
  readonly #jobs = new Map<string, RunningJob>();
  #readRemoteProgress: ReadRemoteProgress | undefined;

  constructor(dependencies: FanOutDependencies) {
    this.#dependencies = dependencies;
  }

  /** The results, or the id of a job for more than 500 targets. */
  async call(
    principal: Principal,
    target: FleetTarget,
    requested: FanOutCall,
  ): Promise<FleetReply | { readonly job: string }> {
    requireScope(principal, "call");
    const devices = this.#dependencies.targets(principal, target);
    const approval = await requireApprovalForAll(this.#dependencies, principal, target, devices, requested);
    const call = { ...requested, options: { ...requested.options, ...approval } };
    const queues = call.options.queue !== undefined && devices.some((id) => !this.#dependencies.isOnline(id));
    if (queues || devices.length > limits.fanOutAtOnce.max)
      return { job: await this.#startJob(principal, devices, call) };
    const results: FleetResult[] = [];
    await withOneListener(call.options.signal, (signal) =>
      this.#runAll(
        principal,
        devices,
        { ...call, options: { ...call.options, signal, queue: undefined } },
        results,
      ),
    );
    return summary(inOrder(results, devices));
  }

  async job(principal: Principal, id: string): Promise<Job> {
    requireScope(principal, "call");
    const job = await this.#read(principal.id, id);
    if (job === undefined) throw noSuchJob();
    return job;
  }

  /** A summary of a job, which may run on another node. */
  async progress(principal: Principal, id: string): Promise<JobProgress> {
    requireScope(principal, "call");
    const isLocal = this.#ownJob(principal.id, id) !== undefined;
    const remote = isLocal ? undefined : await this.#readRemoteProgress?.(principal.id, id);
    const found = remote ?? (await this.localProgress(principal.id, id));
    if (found === undefined) throw noSuchJob();
    return found;
  }

  /** For other nodes, which have already checked the principal's scopes. */
  async localProgress(principalId: string, id: string): Promise<JobProgress | undefined> {
    const job = await this.#read(principalId, id);
    return job === undefined ? undefined : progressOf(job);
  }

  /** From memory, or from the store for a job with queued calls of an earlier run or of a node that has failed. */
  async #read(principalId: string, id: string): Promise<Job | undefined> {
    const { store, clock } = this.#dependencies;
    const running = this.#ownJob(principalId, id);
    if (running?.isStored === false)
      return jobOf(id, running.total, running.results, running.endedAt === undefined);
    const stored = running === undefined ? await store.jobs.find(id) : undefined;
    if (running === undefined && stored?.principal !== principalId) return undefined;
    const queued = (await store.queuedCalls.ofJob(id)).map((call) => queuedResult(call, clock.now()));
    // Safe: only `#startJob` writes them.
    const live = running?.results ?? (stored?.results as FleetResult[]);
    const isRunning =
      (running !== undefined && running.endedAt === undefined) ||
      queued.some(({ state }) => state !== "finished");
    return jobOf(id, running?.total ?? stored?.total ?? 0, [...live, ...queued], isRunning);
  }

  /** In a cluster: how to read the progress of jobs of other nodes. */
  readRemoteProgressWith(read: ReadRemoteProgress): void {
    this.#readRemoteProgress = read;
  }

  /** Other principals get the same answer as for a job that does not exist. */
  #ownJob(principalId: string, id: string): RunningJob | undefined {
    const job = this.#jobs.get(id);
    return job?.principal === principalId ? job : undefined;
  }

  async #startJob(principal: Principal, devices: readonly string[], call: FanOutCall): Promise<string> {
    this.#makeRoom(principal.id);
    const { clock, store, idPrefix } = this.#dependencies;
    const id = `${idPrefix}${newCallId()}`;
    const { queue } = call.options;
    const isStored = queue !== undefined || call.durable === true;
    const total = devices.length;
    const job: RunningJob = { principal: principal.id, total, results: [], isStored, endedAt: undefined };
    this.#jobs.set(id, job);
    const save = async () => {
      const results = storable(job.results);
      await store.jobs.save({ id, principal: principal.id, createdAt: clock.now(), total, results });
    };
    if (isStored) await save();
    // A job continues after the client that started it disconnects.
    const options = {
      ...call.options,
      signal: undefined,
      queue: queue === undefined ? undefined : { ...queue, job: id },
    };
    void this.#runAll(principal, devices, { ...call, options }, job.results).then(async () => {
      job.endedAt = clock.now();
      if (isStored) await save().catch(() => undefined);
    });
    return id;
  }

  /** Finished jobs are dropped after an hour, or when their principal needs the place. */
  #makeRoom(principalId: string): void {
    const now = this.#dependencies.clock.now();
    const own: { readonly id: string; readonly job: RunningJob }[] = [];
    for (const [id, job] of this.#jobs) {
      if (job.endedAt !== undefined && now - job.endedAt > jobKeptMs) this.#jobs.delete(id);
      else if (job.principal === principalId) own.push({ id, job });
    }
    if (this.#jobs.size < limits.jobsKept.max && own.length < limits.jobsKeptPerToken.max) return;
    const finished = own.find(({ job }) => job.endedAt !== undefined);
    if (finished === undefined)
      throw new TendonError("rate_limited", "too many jobs are running; retry later");
    this.#jobs.delete(finished.id);
  }

  async #runAll(
    principal: Principal,
    devices: readonly string[],
    call: FanOutCall,
    results: FleetResult[],
  ): Promise<void> {
    const waiting = devices.values();
    const worker = async () => {
      for (const device of waiting) {
        const result = await this.#runOne(principal, device, call);
        if (result !== undefined) results.push(result);
      }
    };
    const workers = Math.min(limits.fanOutParallel.max, devices.length);
    await Promise.all(Array.from({ length: workers }, worker));
  }

  /** `undefined` for a call that was queued: its result is in the store. */
  async #runOne(
    principal: Principal,
    device: string,
    { tool, args, options }: FanOutCall,
  ): Promise<FleetResult | undefined> {
    const startedAt = this.#dependencies.clock.monotonic();
    try {
      const reply = await this.#dependencies.calls.callOrQueue(principal, device, tool, args, options);
      if (!("result" in reply)) return undefined;
      const { result, durationMs } = reply;
      return { device, ok: !result.isError, result, durationMs };
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
      const { code, message, context, kind } = known;
      const durationMs = Math.round((this.#dependencies.clock.monotonic() - startedAt) * 100) / 100;
      const { retryable } = kind;
      return { device, ok: false, error: { code, detail: message, retryable, ...context }, durationMs };
    }
  }
}

/** Gives the calls a shared signal, so that the caller's own signal has one listener instead of one per device. */
async function withOneListener(
  caller: Cancellation | undefined,
  work: (signal: Cancellation | undefined) => Promise<void>,
): Promise<void> {
  if (caller === undefined) return await work(undefined);
  const shared = new CancellationSource();
  const cancel = () => shared.abort();
  if (caller.aborted) cancel();
  caller.addEventListener("abort", cancel);
  try {
    await work(shared);
  } finally {
    caller.removeEventListener("abort", cancel);
  }
}

function noSuchJob(): TendonError {
  return new TendonError("not_found", "no job has this id, or it ended more than an hour ago");
}

function inOrder(results: FleetResult[], devices: readonly string[]): FleetResult[] {
  const place = new Map(devices.map((device, index) => [device, index]));
  return results.sort((a, b) => (place.get(a.device) ?? 0) - (place.get(b.device) ?? 0));
}

function summary(results: FleetResult[]): FleetReply {
  const ok = results.filter((result) => result.ok).length;
  return { results, ok, failed: results.length - ok };
}

function jobOf(id: string, total: number, results: readonly FleetResult[], isRunning: boolean): Job {
  const unfinished = results.filter(({ state = "finished" }) => state !== "finished").length;
  const ok = results.filter((result) => result.ok).length;
  return {
    id,
    state: isRunning ? "running" : "done",
    total,
    results: [...results],
    ok,
    failed: results.length - ok - unfinished,
    queued: unfinished,
  };
}

/** Results of many devices can be large. Without their content they still say which succeeded. */
function storable(results: readonly FleetResult[]): JsonObject[] {
  const text = JSON.stringify(results);
  if (text.length <= maxStoredResults) return [...results];
  return results.map(({ result: _content, ...rest }) => rest);
}
