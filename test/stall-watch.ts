/**
 * Fails a test in which the event loop was busy for too long in one piece while a gateway was ready: meanwhile it
 * answers nobody. `watches-setup.ts` asks after each test.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

export interface Stall {
  readonly busyMs: number;
  /** The innermost functions, if the stall lasted until they were read. */
  readonly stack: readonly string[];
}

const boundMs = 200;
const turnMs = 20;
const off = 0;

class StallWatch {
  readonly #turns = new Int32Array(new SharedArrayBuffer(4));
  readonly #reports = new MessageChannel();
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;
  #gateways = 0;
  /** Counts the test files of this process. */
  #file = 0;

  /** Forgets gateways that tests of another file left behind: what they do is not this file's fault. */
  startOver(): void {
    this.#file += 1;
    this.#gateways = 0;
    this.#pause();
    this.take();
  }

  /** Watches from now on until the gateway stops. */
  watch<G extends { stop(): Promise<void> }>(gateway: G): G {
    this.#begin();
    const file = this.#file;
    let isWatched = true;
    const stop = async () => {
      if (isWatched && file === this.#file) this.#end();
      isWatched = false;
      await gateway.stop();
    };
    return { ...gateway, stop };
  }

  /** Runs work of the test itself that may take long, such as filling a database, beside a gateway. */
  async ownWork<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#pause();
    try {
      return await run();
    } finally {
      if (this.#gateways > 0) this.#resume();
    }
  }

  /** The stalls since the last time. */
  take(): readonly Stall[] {
    const stalls: Stall[] = [];
    for (let each = this.#next(); each !== undefined; each = this.#next()) stalls.push(each);
    return stalls;
  }

  #begin(): void {
    if (!this.#isStarted) this.#start();
    this.#gateways += 1;
    if (this.#timer === undefined) this.#resume();
  }

  #end(): void {
    this.#gateways -= 1;
    if (this.#gateways === 0) this.#pause();
  }

  #resume(): void {
    this.#turn();
    this.#timer = setInterval(() => this.#turn(), turnMs);
    this.#timer.unref();
  }

  #pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    Atomics.store(this.#turns, 0, off);
  }

  #next(): Stall | undefined {
    return (receiveMessageOnPort(this.#reports.port1) as { message: Stall } | undefined)?.message;
  }

  #turn(): void {
    // Never `off`: a stall of the last test must not look like one of a gateway that is gone.
    Atomics.store(this.#turns, 0, (Atomics.load(this.#turns, 0) % 1_000_000) + 1);
  }

  #start(): void {
    this.#isStarted = true;
    const { port2 } = this.#reports;
    const worker = new Worker(new URL("./stall-watch-worker.mjs", import.meta.url), {
      workerData: { turns: this.#turns, port: port2, boundMs },
      transferList: [port2],
      // The options of the tests' process are not allowed in a worker.
      execArgv: [],
    });
    worker.unref();
    this.#reports.port1.unref();
  }
}

export const stallWatch = new StallWatch();
