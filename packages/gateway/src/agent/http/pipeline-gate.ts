/**
 * Bounds the memory that a client can take by sending requests without reading the replies (HTTP pipelining). A few
 * requests of a connection run at once; the others wait, and reading pauses. Node itself starts every request of a chunk,
 * which can be thousands. When the connection closes, it leaves all but the first running.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";
import { type Handle, onePerSecond, type Response, standBefore } from "./request-listener.ts";

export interface GateOptions {
  readonly clock: Clock;
  /** Called for each closed connection. `from` is its address, at most once a second: a flood must not fill the log. */
  readonly onCut: (from: string | undefined) => void;
}

const measureEveryMs = 1_000;
const resumeBelow = limits.pipelinedRequests.max / 2;

export function boundPipelines(server: Server, options: GateOptions): void {
  standBefore(server, (next) => {
    const gate = new PipelineGate(next, options);
    const timer = options.clock.every(measureEveryMs, () => gate.boundUnsent());
    server.once("close", () => timer.cancel());
    return (request, response) => gate.take(request, response);
  });
}

/** The requests of one connection. */
class Pipeline {
  readonly socket: Socket;
  readonly running = new Set<Response>();
  waiting: [IncomingMessage, Response][] = [];
  /** Bytes of its replies that the socket had not accepted when last measured. */
  unsent = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  measure(): number {
    this.unsent = 0;
    for (const response of this.running) this.unsent += response.writableLength;
    return this.unsent;
  }
}

class PipelineGate {
  readonly #pipelines = new Map<Socket, Pipeline>();
  readonly #handle: Handle;
  readonly #options: GateOptions;
  readonly #isLogged: () => boolean;
  #waiting = 0;

  constructor(handle: Handle, options: GateOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#isLogged = onePerSecond(options.clock);
  }

  take(request: IncomingMessage, response: Response): void {
    const { socket } = request;
    if (socket.destroyed) return;
    const pipeline = this.#pipelines.get(socket) ?? this.#begin(socket);
    if (pipeline.running.size < limits.pipelinedRequests.max && pipeline.waiting.length === 0) {
      this.#run(pipeline, request, response);
      return;
    }
    pipeline.waiting.push([request, response]);
    this.#waiting += 1;
    socket.pause();
    if (this.#waiting > limits.waitingRequests.max) this.#cut((each) => each.waiting.length);
  }

  /** Closes the connections with the most unread replies until the rest is within the limit. */
  boundUnsent(): void {
    let unsent = 0;
    for (const pipeline of this.#pipelines.values()) unsent += pipeline.measure();
    while (unsent > limits.unsentAnswerBytes.max) unsent -= this.#cut((each) => each.unsent);
  }

  #begin(socket: Socket): Pipeline {
    const pipeline = new Pipeline(socket);
    this.#pipelines.set(socket, pipeline);
    socket.once("close", () => this.#end(pipeline));
    return pipeline;
  }

  #run(pipeline: Pipeline, request: IncomingMessage, response: Response): void {
    pipeline.running.add(response);
    response.once("close", () => this.#answered(pipeline, response));
    this.#handle(request, response);
  }

  #answered(pipeline: Pipeline, response: Response): void {
    pipeline.running.delete(response);
    const next = pipeline.waiting.shift();
    if (next !== undefined) {
      this.#waiting -= 1;
      this.#run(pipeline, ...next);
    } else if (pipeline.running.size < resumeBelow && pipeline.socket.isPaused()) pipeline.socket.resume();
  }

  #end(pipeline: Pipeline): void {
    this.#pipelines.delete(pipeline.socket);
    this.#waiting -= pipeline.waiting.length;
    pipeline.waiting = [];
    // Node closes only the reply that was being sent; the others have no socket yet.
    for (const response of [...pipeline.running].filter(({ socket }) => socket === null)) {
      response.destroy();
      response.emit("close");
    }
  }

  /** Closes the connection with the largest amount, and returns that amount. */
  #cut(amountOf: (pipeline: Pipeline) => number): number {
    let [largest] = this.#pipelines.values();
    if (largest === undefined) return Number.POSITIVE_INFINITY;
    for (const pipeline of this.#pipelines.values()) {
      if (amountOf(pipeline) > amountOf(largest)) largest = pipeline;
    }
    const amount = amountOf(largest);
    const { socket } = largest;
    this.#options.onCut(this.#isLogged() ? socket.remoteAddress : undefined);
    this.#end(largest);
    socket.destroy();
    return amount;
  }
}
