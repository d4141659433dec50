/**
 * Bounds what a client can make the gateway hold by sending requests on a connection without reading the answers
 * (HTTP pipelining). A few requests of a connection run at once; the others wait, and reading pauses. The runtime alone
 * runs every request of a chunk it has read, which can be thousands, and leaves those behind the first running when the
 * connection closes.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { limits } from "@tendon/protocol";
import type { Clock } from "../../clock.ts";

type Response = ServerResponse<IncomingMessage>;
type Handle = (request: IncomingMessage, response: Response) => void;

export interface GateOptions {
  readonly clock: Clock;
  /** A connection was cut off. `from` is its address, once a second at most: a flood must not fill the log. */
  readonly onCut: (from: string | undefined) => void;
}

const measureEveryMs = 1_000;
const resumeBelow = limits.pipelinedRequests.max / 2;

/** Puts the gate before the one listener that the server has for requests. */
export function boundPipelines(server: Server, options: GateOptions): void {
  const [listener] = server.listeners("request") as RequestListener[];
  if (listener === undefined) throw new TypeError("the server has no listener for requests");
  const gate = new PipelineGate(listener.bind(server), options);
  server.removeAllListeners("request");
  server.on("request", (request, response) => gate.take(request, response));
  const timer = options.clock.every(measureEveryMs, () => gate.boundUnsent());
  server.once("close", () => timer.cancel());
}

/** One connection. */
class Pipeline {
  readonly socket: Socket;
  readonly running = new Set<Response>();
  waiting: [IncomingMessage, Response][] = [];
  /** Bytes of its answers that the system had not taken when they were last counted. */
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
  #waiting = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(handle: Handle, options: GateOptions) {
    this.#handle = handle;
    this.#options = options;
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
    if (this.#waiting > limits.waitingRequests.max) this.#cut((held) => held.waiting.length);
  }

  /** Cuts off the connections with the most unread answers until the others stay within the bound together. */
  boundUnsent(): void {
    let unsent = 0;
    for (const pipeline of this.#pipelines.values()) unsent += pipeline.measure();
    while (unsent > limits.unsentAnswerBytes.max) unsent -= this.#cut((held) => held.unsent);
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
    // The runtime closes only the answer that was being sent; the others have no socket yet.
    for (const response of [...pipeline.running].filter(({ socket }) => socket === null)) {
      response.destroy();
      response.emit("close");
    }
  }

  /** Cuts off the connection with the most of something, and returns how much it had. */
  #cut(amountOf: (pipeline: Pipeline) => number): number {
    let [largest] = this.#pipelines.values();
    if (largest === undefined) return Number.POSITIVE_INFINITY;
    for (const pipeline of this.#pipelines.values()) {
      if (amountOf(pipeline) > amountOf(largest)) largest = pipeline;
    }
    const amount = amountOf(largest);
    const { socket } = largest;
    const now = this.#options.clock.monotonic();
    const isNews = now - this.#reportedAt >= measureEveryMs;
    if (isNews) this.#reportedAt = now;
    this.#options.onCut(isNews ? socket.remoteAddress : undefined);
    this.#end(largest);
    socket.destroy();
    return amount;
  }
}
