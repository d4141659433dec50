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
import type { CallOptions } from "./calls.ts";
import { type FanOutApprovalDependencies, requireApprovalForAll } from "./fan-out-approval.ts";
import { type JobProgress, progressOf } from "./fan-out-progress.ts";

export interface FanOutCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly options: CallOptions;
}

export interface FanOutDependencies extends FanOutApprovalDependencies {
  /** The prefix of job ids, which tells other nodes which node runs the job. */
  readonly idPrefix: string;
  readonly targets: (principal: Principal, target: FleetTarget) => string[];
}

interface RunningJob {
  readonly principal: string;
  readonly total: number;
  readonly results: FleetResult[];
  endedAt: number | undefined;
}

/** Asks the node that a job's id names; `undefined` if there is no such node or job. */
type ReadRemoteProgress = (principalId: string, job: string) => Promise<JobProgress | undefined>;

const jobKeptMs = 60 * 60 * 1000;

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
    if (devices.length > limits.fanOutAtOnce.max) return { job: this.#startJob(principal, devices, call) };
    const results: FleetResult[] = [];
    await withOneListener(call.options.signal, (signal) =>
      this.#runAll(principal, devices, { ...call, options: { ...call.options, signal } }, results),
    );
    return summary(inOrder(results, devices));
  }

  job(principal: Principal, id: string): Job {
    requireScope(principal, "call");
    const job = this.#ownJob(principal.id, id);
    if (job === undefined) throw noSuchJob();
    return { id, state: stateOf(job), total: job.total, ...summary(job.results) };
  }

  /** A summary of a job, which may run on another node. */
  async progress(principal: Principal, id: string): Promise<JobProgress> {
    requireScope(principal, "call");
    const found =
      this.localProgress(principal.id, id) ?? (await this.#readRemoteProgress?.(principal.id, id));
    if (found === undefined) throw noSuchJob();
    return found;
  }

  /** For other nodes, which have already checked the principal's scopes. */
  localProgress(principalId: string, id: string): JobProgress | undefined {
    const job = this.#ownJob(principalId, id);
    return job === undefined ? undefined : progressOf(id, stateOf(job), job.total, job.results);
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

  #startJob(principal: Principal, devices: readonly string[], call: FanOutCall): string {
    this.#makeRoom(principal.id);
    const id = `${this.#dependencies.idPrefix}${newCallId()}`;
    const job: RunningJob = {
      principal: principal.id,
      total: devices.length,
      results: [],
      endedAt: undefined,
    };
    this.#jobs.set(id, job);
    // A job continues after the client that started it disconnects.
    const detached = { ...call, options: { ...call.options, signal: undefined } };
    void this.#runAll(principal, devices, detached, job.results).then(() => {
      job.endedAt = this.#dependencies.clock.now();
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
      for (const device of waiting) results.push(await this.#runOne(principal, device, call));
    };
    const workers = Math.min(limits.fanOutParallel.max, devices.length);
    await Promise.all(Array.from({ length: workers }, worker));
  }

  async #runOne(
    principal: Principal,
    device: string,
    { tool, args, options }: FanOutCall,
  ): Promise<FleetResult> {
    const startedAt = this.#dependencies.clock.monotonic();
    try {
      const { result, durationMs } = await this.#dependencies.calls.call(
        principal,
        device,
        tool,
        args,
        options,
      );
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

function stateOf({ endedAt }: RunningJob): Job["state"] {
  return endedAt === undefined ? "running" : "done";
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
