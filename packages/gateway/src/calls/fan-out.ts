/**
 * One call to many devices [CALL-8]: each takes the ordinary way of a call and has its own result. What is too much
 * to wait for becomes a job that is read later.
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
import { type Cancellation, Recall } from "../cancellation.ts";
import { TendonError } from "../errors.ts";
import type { CallOptions } from "./calls.ts";
import { type FanOutApprovalNeeds, requireApprovalForAll } from "./fan-out-approval.ts";
import { type JobProgress, progressOf } from "./fan-out-progress.ts";

export interface FanOutCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly options: CallOptions;
}

export interface FanOutNeeds extends FanOutApprovalNeeds {
  /** What ids of jobs begin with, so that another node can tell whose they are. */
  readonly idMark: string;
  readonly targets: (principal: Principal, target: FleetTarget) => string[];
}

interface RunningJob {
  readonly principal: string;
  readonly total: number;
  readonly results: FleetResult[];
  endedAt: number | undefined;
}

/** Asks the node that a job's id names; `undefined` where there is none, or it knows of no such job. */
type AskElsewhere = (principalId: string, job: string) => Promise<JobProgress | undefined>;

const jobKeptMs = 60 * 60 * 1000;

export class FanOut {
  readonly #needs: FanOutNeeds;
  readonly #jobs = new Map<string, RunningJob>();
  #askElsewhere: AskElsewhere | undefined;

  constructor(needs: FanOutNeeds) {
    this.#needs = needs;
  }

  /** The results, or the id of a job where there are too many targets to wait for. */
  async call(
    principal: Principal,
    target: FleetTarget,
    asked: FanOutCall,
  ): Promise<FleetReply | { readonly job: string }> {
    requireScope(principal, "call");
    const devices = this.#needs.targets(principal, target);
    const word = await requireApprovalForAll(this.#needs, principal, target, devices, asked);
    const call = { ...asked, options: { ...asked.options, ...word } };
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

  /** The same in short, of a job that runs on any node. */
  async progress(principal: Principal, id: string): Promise<JobProgress> {
    requireScope(principal, "call");
    const found = this.progressHere(principal.id, id) ?? (await this.#askElsewhere?.(principal.id, id));
    if (found === undefined) throw noSuchJob();
    return found;
  }

  /** For other nodes, which have looked at the principal's scopes. */
  progressHere(principalId: string, id: string): JobProgress | undefined {
    const job = this.#ownJob(principalId, id);
    return job === undefined ? undefined : progressOf(id, stateOf(job), job.total, job.results);
  }

  /** There are other nodes, with jobs of their own. */
  askElsewhere(ask: AskElsewhere): void {
    this.#askElsewhere = ask;
  }

  /** Whose job it is not gets to know nothing of it. */
  #ownJob(principalId: string, id: string): RunningJob | undefined {
    const job = this.#jobs.get(id);
    return job?.principal === principalId ? job : undefined;
  }

  #startJob(principal: Principal, devices: readonly string[], call: FanOutCall): string {
    this.#forgetOldJobs();
    if (this.#jobs.size >= limits.jobsKept.max)
      throw new TendonError("rate_limited", "too many jobs; try again later");
    const id = `${this.#needs.idMark}${newCallId()}`;
    const job: RunningJob = {
      principal: principal.id,
      total: devices.length,
      results: [],
      endedAt: undefined,
    };
    this.#jobs.set(id, job);
    // A job outlives the request that started it: hanging up does not stop it.
    const detached = { ...call, options: { ...call.options, signal: undefined } };
    void this.#runAll(principal, devices, detached, job.results).then(() => {
      job.endedAt = this.#needs.clock.now();
    });
    return id;
  }

  #forgetOldJobs(): void {
    const now = this.#needs.clock.now();
    for (const [id, { endedAt }] of this.#jobs) {
      if (endedAt !== undefined && now - endedAt > jobKeptMs) this.#jobs.delete(id);
    }
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
    const startedAt = this.#needs.clock.monotonic();
    try {
      const { result, durationMs } = await this.#needs.calls.call(principal, device, tool, args, options);
      return { device, ok: !result.isError, result, durationMs };
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", "the call failed", {}, error);
      const { code, message, context } = known;
      const durationMs = Math.round((this.#needs.clock.monotonic() - startedAt) * 100) / 100;
      return { device, ok: false, error: { code, detail: message, ...context }, durationMs };
    }
  }
}

/** Each device's call listens for its caller's leaving; the caller's own signal gets one listener for all of them. */
async function withOneListener(
  caller: Cancellation | undefined,
  work: (signal: Cancellation | undefined) => Promise<void>,
): Promise<void> {
  if (caller === undefined) return await work(undefined);
  const shared = new Recall();
  const leave = () => shared.abort();
  if (caller.aborted) leave();
  caller.addEventListener("abort", leave);
  try {
    await work(shared);
  } finally {
    caller.removeEventListener("abort", leave);
  }
}

function stateOf({ endedAt }: RunningJob): Job["state"] {
  return endedAt === undefined ? "running" : "done";
}

function noSuchJob(): TendonError {
  return new TendonError("not_found", "no such job, or it ended more than an hour ago");
}

function inOrder(results: FleetResult[], devices: readonly string[]): FleetResult[] {
  const place = new Map(devices.map((device, index) => [device, index]));
  return results.sort((a, b) => (place.get(a.device) ?? 0) - (place.get(b.device) ?? 0));
}

function summary(results: FleetResult[]): FleetReply {
  const ok = results.filter((result) => result.ok).length;
  return { results, ok, failed: results.length - ok };
}
