/** Feeds an entry point of a running gateway, and checks after every batch that the gateway still serves others. */
import { setTimeout } from "node:timers/promises";
import { type Bounds, type Failure, Inputs, mostCpuMs, type Report, seedOf } from "../engine.ts";
import { Random } from "../random.ts";
import { must } from "../target.ts";
import { FuzzDevice } from "./device.ts";
import type { Entry, FuzzSite, Sender } from "./entry.ts";
import type { Figures } from "./gateway-process.ts";
import { ask } from "./http.ts";

const batchSize = 200;
const settleMs = 30_000;
/** The gateway keeps the last 10,000 events, 1,000 calls and 1,024 frames: some megabytes until they are full. */
const mostGrowthBytes = 16 * 1024 * 1024;

export interface Gateway {
  readonly site: FuzzSite;
  figures(collect: boolean): Promise<Figures>;
}

/** A device and a caller that do everything right. */
class Keeper {
  readonly #site: FuzzSite;
  readonly #device: FuzzDevice;

  constructor(site: FuzzSite) {
    this.#site = site;
    this.#device = new FuzzDevice(site.url, "keeper");
  }

  async check(): Promise<void> {
    if (!this.#device.isOpen) await this.#device.connect();
    const headers = { authorization: `Bearer ${this.#site.adminToken}`, "content-type": "application/json" };
    const health = await ask(this.#site.url, { path: "/healthz" });
    must(health?.status === 200, `the gateway is healthy: ${health?.status} ${health?.text.slice(0, 200)}`);
    const answered = await ask(this.#site.url, {
      method: "POST",
      path: "/api/v1/devices/keeper/tools/any/call",
      headers,
      body: '{"arguments":{},"timeoutMs":5000}',
    });
    must(answered?.status === 200, `a call of another device works: ${answered?.text.slice(0, 300)}`);
  }

  close(): void {
    this.#device.close();
  }
}

/** Connections that have just ended are kept for some seconds, so it waits for a heap below the bound. */
async function settledHeap(gateway: Gateway, bound: number): Promise<number | undefined> {
  let least = Number.POSITIVE_INFINITY;
  for (const until = performance.now() + settleMs; performance.now() < until && least > bound; ) {
    const { heapBytes } = await gateway.figures(true);
    if (heapBytes === undefined) return undefined;
    least = Math.min(least, heapBytes);
    if (least > bound) await setTimeout(1_000);
  }
  return least;
}

interface Tried {
  readonly input: Buffer;
  readonly reason: string | undefined;
}

/** Tries a batch, several inputs at once. */
async function tryAll(
  batch: readonly Buffer[],
  senders: readonly Sender[],
  seen: (input: Buffer, outcome: string) => void,
) {
  const left = [...batch];
  const tried: Tried[] = [];
  await Promise.all(
    senders.map(async (sender) => {
      for (let input = left.pop(); input !== undefined; input = left.pop()) {
        try {
          seen(input, await sender.send(input));
        } catch (error) {
          tried.push({ input, reason: error instanceof Error ? (error.stack ?? "") : String(error) });
        }
      }
    }),
  );
  return tried;
}

export async function fuzzEntry(
  entry: Entry,
  gateway: Gateway,
  corpus: readonly Buffer[],
  bounds: Bounds,
): Promise<Report> {
  const { seed, inputs: most = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY } = bounds;
  const { site } = gateway;
  const shape = {
    seeds: await entry.seeds(site),
    maxBytes: entry.maxBytes,
    ...(entry.arbitrary === undefined ? {} : { arbitrary: entry.arbitrary }),
  };
  const inputs = new Inputs(shape, corpus, new Random(seedOf(seed, entry.name)));
  const keeper = new Keeper(site);
  await keeper.check();
  const senders = await Promise.all(
    Array.from({ length: entry.workers }, (_, worker) => entry.open(site, worker)),
  );
  const outcomes = new Map<string, number>();
  const seen = (input: Buffer, outcome: string) => {
    inputs.learn(input, outcome);
    const kind = outcome.split(":", 1)[0] ?? "";
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
  };
  await gateway.figures(false);
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1_000;
  let [count, slowestMs, slowest]: [number, number, Buffer] = [0, 0, Buffer.alloc(0)];
  let failure: Failure | undefined;
  let heap: number | undefined;
  let replay: readonly Buffer[] | undefined = bounds.replay === true ? corpus : undefined;
  while (count < most && elapsed() < seconds && failure === undefined) {
    // The first fifth fills caches and bounded lists.
    if (heap === undefined && (count >= most / 5 || elapsed() > seconds / 5))
      heap = (await gateway.figures(true)).heapBytes;
    const fresh = Math.min(batchSize, most - count);
    const batch = replay ?? Array.from({ length: fresh }, () => inputs.next());
    count += replay === undefined ? fresh : 0;
    replay = undefined;
    const [broken] = await tryAll(batch, senders, seen);
    if (broken !== undefined)
      failure = { target: entry.name, seed, input: broken.input, reason: broken.reason ?? "" };
    failure ??= await faultIn(batch, () => keeper.check());
    const { longestTurnMs, faults } = await gateway.figures(false);
    if (faults.length > 0)
      failure ??= await blame(
        batch,
        senders,
        gateway,
        ({ faults: again }) => again.length > 0,
        faults[0] ?? "",
      );
    if (longestTurnMs > slowestMs) {
      const [input, ms] = await slowestOf(batch, senders, gateway, longestTurnMs);
      if (ms > slowestMs) [slowestMs, slowest] = [ms, input];
      if (ms > mostCpuMs)
        failure ??= { target: entry.name, seed, input, reason: `${ms.toFixed(1)} ms of CPU in one turn` };
    }
  }
  const end = failure === undefined ? await settledHeap(gateway, (heap ?? 0) + mostGrowthBytes) : undefined;
  for (const sender of senders) sender.close();
  keeper.close();
  return {
    target: entry.name,
    inputs: count,
    seconds: elapsed(),
    slowestMs,
    slowest,
    growthBytes: heap === undefined || end === undefined ? undefined : end - heap,
    mostGrowthBytes,
    outcomes,
    ...(failure === undefined ? {} : { failure }),
  };

  async function faultIn(batch: readonly Buffer[], check: () => Promise<void>): Promise<Failure | undefined> {
    try {
      await check();
      return undefined;
    } catch (error) {
      // The last input of the batch stands for it.
      const input = batch.at(-1) ?? Buffer.alloc(0);
      return {
        target: entry.name,
        seed,
        input,
        reason: error instanceof Error ? (error.stack ?? "") : String(error),
      };
    }
  }

  /** Tries the inputs of a batch one by one, until one of them is to blame. */
  async function blame(
    batch: readonly Buffer[],
    from: readonly Sender[],
    at: Gateway,
    isIt: (figures: Figures) => boolean,
    reason: string,
  ): Promise<Failure> {
    for (const input of batch) {
      await tryAll([input], from.slice(0, 1), () => undefined);
      if (isIt(await at.figures(false))) return { target: entry.name, seed, input, reason };
    }
    return {
      target: entry.name,
      seed,
      input: Buffer.concat(batch.slice(-1)),
      reason: `${reason} (by a batch, not by one input)`,
    };
  }
}

/**
 * The slowest input of a batch, and the CPU time of its longest turn. Below the bound the batch's own figure is kept: it
 * is an upper limit. Above it, the inputs run again one by one, because collecting and compiling fall into any turn.
 */
async function slowestOf(
  batch: readonly Buffer[],
  senders: readonly Sender[],
  gateway: Gateway,
  longestTurnMs: number,
): Promise<readonly [Buffer, number]> {
  if (longestTurnMs <= mostCpuMs) return [Buffer.alloc(0), longestTurnMs];
  let slowest: readonly [Buffer, number] = [Buffer.alloc(0), 0];
  for (const input of batch) {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3 && least > mostCpuMs / 2; run += 1) {
      await tryAll([input], senders.slice(0, 1), () => undefined);
      least = Math.min(least, (await gateway.figures(false)).longestTurnMs);
    }
    if (least > slowest[1]) slowest = [input, least];
  }
  return slowest;
}
