/**
 * Requests between nodes. Each device has a subject that only the node holding it serves; each node has subjects of its
 * own. Replies larger than one NATS message are fetched in parts. A caller that stops waiting sends a cancellation.
 * While a node works on a request it can send requests and notifications back to the caller, about that request.
 */
import { randomUUID } from "node:crypto";
import { type Cancellation, CancellationSource } from "../cancellation.ts";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, TendonError, UndecidedError } from "../errors.ts";
import { Deadline } from "./deadline.ts";
import { type NatsLink, noAnswer, noResponders, unreachable } from "./nats-link.ts";
import {
  type KnownOutcome,
  learnOutcome,
  type Outcome,
  ReceivedRequests,
  strongestOutcome,
} from "./request-outcomes.ts";
import { type Answer, cancelled, failure, type Parts, type Request, wasSent } from "./rpc-messages.ts";

export type Handler = (body: unknown, signal: Cancellation, caller: Caller) => Promise<unknown>;

/** The node that sent a request, for as long as the request runs. Notifications arrive before the reply. */
export interface Caller {
  readonly node: string;
  request(body: unknown, options: Omit<AskOptions, "callbacks">): Promise<unknown>;
  notify(body: unknown): void;
}

/** What a caller does with the requests and notifications that come back while it waits for a reply. */
export interface Callbacks {
  request(body: unknown, signal: Cancellation): Promise<unknown>;
  notify(body: unknown): void;
}

export interface AskOptions {
  readonly timeoutMs: number;
  readonly signal?: Cancellation | undefined;
  /** The deadline stops while one of them runs. */
  readonly callbacks?: Callbacks | undefined;
}

interface OpenCallbacks {
  readonly callbacks: Callbacks;
  readonly pause: () => void;
  readonly resume: () => void;
}

interface CallbackBody {
  readonly id: string;
  readonly body: unknown;
}

/** A pending request to a node. */
interface Awaited {
  readonly node: string;
  /** Sent to the subject of a device, which another node may serve by now. */
  readonly toDevice: boolean;
  readonly fail: (error: TendonError) => void;
}

export interface RpcDependencies {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly instance: string;
  /** The age of something that another node did at this time of its monotonic clock; `undefined` if unknown. */
  readonly ageOf: (instance: string, at: number) => number | undefined;
  /** All nodes. */
  readonly members: () => readonly string[];
  /** A node that should have a device does not listen for its requests. */
  readonly onNoResponders: (instance: string) => void;
}

/** The other node observes the deadline itself; this is the time for its reply to arrive. */
const graceMs = 1_000;
const partMs = 5_000;
const keptPartsMs = 30_000;
/** The ages of requests are known with this precision. */
const ageToleranceMs = 1_000;
const outcomeMs = 2_000;
const leftMs = 1_000;

export class Rpc {
  readonly #dependencies: RpcDependencies;
  /** Running requests of other nodes, by reply subject. */
  readonly #running = new Map<string, CancellationSource>();
  readonly #parts = new Map<string, { readonly text: string; readonly timer: Timer }>();
  readonly #awaited = new Set<Awaited>();
  readonly #callbacks = new Map<string, OpenCallbacks>();
  readonly #stops: (() => void)[] = [];
  readonly #received: ReceivedRequests;

  constructor(dependencies: RpcDependencies) {
    this.#dependencies = dependencies;
    const { link, clock, instance } = dependencies;
    this.#received = new ReceivedRequests(clock);
    this.#stops.push(
      link.subscribe(link.subject("cancel", instance), (body) => this.#cancel(body)),
      link.subscribe(link.subject("part", instance), (body, message) => {
        link.respond(message, JSON.stringify(this.#part(body) ?? null));
      }),
      link.subscribe(link.subject("outcome", instance), (body, message) => {
        const { id } = body as { readonly id: string };
        link.respond(message, JSON.stringify(this.#received.outcomeOf(id)));
      }),
      this.serveNode("callback", (body, signal) => this.#callBack(body as CallbackBody, signal)),
      link.subscribe(link.subject("notify", instance), (notification) => {
        const { id, body } = notification as CallbackBody;
        this.#callbacks.get(id)?.callbacks.notify(body);
      }),
      link.onState((connected) => {
        if (!connected) this.#failAll();
      }),
    );
  }

  serveDevice(device: string, handle: Handler): () => void {
    return this.#serve(this.deviceSubject(device), handle);
  }

  serveNode(topic: string, handle: Handler): () => void {
    return this.#serve(this.#dependencies.link.subject("node", this.#dependencies.instance, topic), handle);
  }

  /** The subject of a device; computed once per connection. */
  deviceSubject(device: string): string {
    return this.#dependencies.link.subject("device", Buffer.from(device).toString("base64url"));
  }

  askNode(node: string, topic: string, body: unknown, options: AskOptions): Promise<unknown> {
    const nodeSubject = this.#dependencies.link.subject("node", node, topic);
    return this.ask(nodeSubject, node, body, { ...options, nodeSubject });
  }

  /** `node` is expected to answer; if it is lost, the request fails. */
  ask(
    subject: string,
    node: string,
    body: unknown,
    options: AskOptions & { readonly nodeSubject?: string },
  ): Promise<unknown> {
    const { link, clock, instance: from } = this.#dependencies;
    const { timeoutMs, signal } = options;
    if (signal?.aborted === true) return Promise.reject(cancelled(false));
    if (!link.connected) return Promise.reject(unreachable(false));
    const callbacks = options.callbacks === undefined ? undefined : randomUUID();
    const request = this.#write({
      at: clock.now(),
      sentAt: clock.monotonic(),
      timeoutMs,
      body,
      from,
      callbacks,
    });
    // A single promise, because this is the hot path of calls to other nodes.
    return new Promise((resolve, reject) => {
      let settle: ((outcome: Outcome) => void) | undefined;
      const done = () => {
        deadline.cancel();
        signal?.removeEventListener("abort", onAbort);
        this.#awaited.delete(awaited);
        if (callbacks !== undefined) this.#callbacks.delete(callbacks);
      };
      const fail = (error: TendonError) => {
        done();
        pending.forget();
        reject(error);
      };
      const giveUp = (error: TendonError) => {
        done();
        const learning = learnOutcome(clock, () => this.#askOutcome(node, pending.reply));
        settle = learning.settle;
        void learning.settled.then(() => pending.forget());
        reject(new UndecidedError(error, learning.settled));
      };
      const onAbort = () => {
        link.publish(link.subject("cancel", node), { id: pending.reply });
        fail(cancelled(true));
      };
      const awaited: Awaited = { node, toDevice: subject !== options.nodeSubject, fail: giveUp };
      const deadline = new Deadline(clock, timeoutMs + graceMs, () => giveUp(noAnswer(timeoutMs + graceMs)));
      const pending = link.ask(subject, request, (outcome, answer) => {
        if (settle !== undefined) settle(wasSent(answer) ? "sent" : "not sent");
        else if (outcome === "no responders") {
          this.#dependencies.onNoResponders(node);
          fail(noResponders());
        } else if (answer === undefined) fail(unreachable(true));
        else {
          done();
          this.#open(answer as Answer, resolve, reject);
        }
      });
      signal?.addEventListener("abort", onAbort);
      this.#awaited.add(awaited);
      if (options.callbacks === undefined || callbacks === undefined) return;
      this.#callbacks.set(callbacks, {
        callbacks: options.callbacks,
        pause: () => deadline.pause(),
        resume: () => deadline.resume(),
      });
    });
  }

  /** Fails the pending requests to a lost node. It is unknown whether they ran. */
  nodeLost(node: string): void {
    for (const awaited of this.#awaited) if (awaited.node === node) awaited.fail(unreachable(true));
  }

  /**
   * A node has left after it answered its requests. Those to its devices go on: the device may have moved, and the node
   * that has it now works on the request.
   */
  nodeLeft(node: string): void {
    this.#dependencies.clock.after(leftMs, () => {
      for (const { node: asked, toDevice, fail } of this.#awaited)
        if (asked === node && !toDevice) fail(unreachable(true));
    });
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    for (const { timer } of this.#parts.values()) timer.cancel();
    this.#parts.clear();
    for (const running of this.#running.values()) running.abort();
    this.#failAll();
  }

  #failAll(): void {
    for (const { fail } of this.#awaited) fail(unreachable(true));
  }

  /** Asks every node: a device that moves may have been called on its new one. */
  async #askOutcome(node: string, id: string): Promise<KnownOutcome | undefined> {
    const { link, members } = this.#dependencies;
    if (!link.connected) return undefined;
    const nodes = new Set([node, ...members()]);
    const answers = await Promise.all(
      // Safe: only the subscription above answers.
      [...nodes].map((each) => link.request(link.subject("outcome", each), { id }, outcomeMs)),
    );
    return strongestOutcome(answers as KnownOutcome[]);
  }

  #open(answer: Answer, resolve: (body: unknown) => void, reject: (error: TendonError) => void): void {
    if ("parts" in answer) resolve(this.#fetch(answer));
    else if (answer.ok) resolve(answer.body);
    else reject(new TendonError(answer.code, answer.detail, answer.context, answer.cause));
  }

  async #fetch({ parts, node, answer }: Parts): Promise<unknown> {
    let text = "";
    for (let part = 0; part < parts; part += 1) {
      const subject = this.#dependencies.link.subject("part", node);
      const piece = await this.#dependencies.link.request(subject, { answer, part }, partMs);
      if (typeof piece !== "string") throw unreachable(true);
      text += piece;
    }
    return JSON.parse(text) as unknown;
  }

  #serve(subject: string, handle: Handler): () => void {
    const { link } = this.#dependencies;
    return link.serve(subject, (body, message) => {
      // Safe: only nodes of this cluster publish here.
      void this.#answer(message.reply ?? "", body as Request, handle).then((answer) =>
        link.respond(message, answer),
      );
    });
  }

  async #answer(id: string, request: Request, handle: Handler): Promise<string> {
    const { sentAt, from } = request;
    const ageMs = sentAt === undefined ? undefined : this.#dependencies.ageOf(from, sentAt);
    if (ageMs !== undefined && ageMs > request.timeoutMs + ageToleranceMs) {
      const late = new TendonError(
        "device_timeout",
        "the call reached the device's node after its deadline and was not sent",
        {
          phase: "queue",
          sent: false,
        },
      );
      this.#received.started(id);
      this.#received.ended(id, "not sent");
      return JSON.stringify(failure(late));
    }
    const running = new CancellationSource();
    this.#running.set(id, running);
    this.#received.started(id);
    let outcome: Outcome = "sent";
    try {
      const asked = request.parts === undefined ? request.body : await this.#fetch(request.parts);
      const body = (await handle(asked, running, this.#callerOf(request))) ?? null;
      const text = JSON.stringify({ ok: true, body } satisfies Answer);
      return this.#dependencies.link.fits(text) ? text : JSON.stringify(this.#keep(body) satisfies Answer);
    } catch (error) {
      const known =
        error instanceof TendonError ? error : new TendonError("internal", messageOf(error), {}, error);
      if (known.context["sent"] === false) outcome = "not sent";
      return JSON.stringify(failure(known));
    } finally {
      this.#running.delete(id);
      this.#received.ended(id, outcome);
    }
  }

  #callerOf({ from: node, callbacks: id = "" }: Request): Caller {
    const { link } = this.#dependencies;
    return {
      node,
      request: (body, options) =>
        this.askNode(node, "callback", { id, body } satisfies CallbackBody, options),
      notify: (body) => link.publish(link.subject("notify", node), { id, body } satisfies CallbackBody),
    };
  }

  async #callBack({ id, body }: CallbackBody, signal: Cancellation): Promise<unknown> {
    const open = this.#callbacks.get(id);
    if (open === undefined) throw cancelled(false);
    open.pause();
    try {
      return await open.callbacks.request(body, signal);
    } finally {
      open.resume();
    }
  }

  #write(request: Request): string {
    const text = JSON.stringify(request);
    if (this.#dependencies.link.fits(text)) return text;
    return JSON.stringify({ ...request, body: null, parts: this.#keep(request.body) } satisfies Request);
  }

  /** Keeps a body that is too large for a message; the receiver fetches it in parts. */
  #keep(body: unknown): Parts {
    const { clock, instance } = this.#dependencies;
    const answer = randomUUID();
    const text = JSON.stringify(body);
    const timer = clock.after(keptPartsMs, () => this.#parts.delete(answer));
    this.#parts.set(answer, { text, timer });
    return { parts: Math.ceil(text.length / this.#partLength()), node: instance, answer };
  }

  #part(body: unknown): string | undefined {
    const { answer, part } = body as { readonly answer: string; readonly part: number };
    const kept = this.#parts.get(answer);
    const length = this.#partLength();
    const text = kept?.text.slice(part * length, (part + 1) * length);
    if (kept !== undefined && (part + 1) * length >= kept.text.length) {
      kept.timer.cancel();
      this.#parts.delete(answer);
    }
    return text;
  }

  /** In characters: a character may take three bytes, and six if it is escaped again. */
  #partLength(): number {
    return Math.floor(this.#dependencies.link.largestMessage / 7);
  }

  #cancel(body: unknown): void {
    const { id } = body as { readonly id: string };
    this.#running.get(id)?.abort();
  }
}
