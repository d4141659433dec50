/** One connection to NATS: its state told truthfully, its waits bounded, everything on it as JSON. */
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import {
  connect,
  createInbox,
  headers,
  type Msg,
  type NatsConnection,
  type PublishOptions,
  RequestError,
  type Subscription,
  TimeoutError,
} from "@nats-io/transport-node";
import type { Clock } from "../clock.ts";
import { messageOf, StartError, TendonError } from "../errors.ts";
import { type NatsAddress, readNatsAddress } from "./nats-address.ts";

const patienceAtStartMs = 15_000;
const attemptMs = 3_000;
const pauseMs = 500;
/** A frozen server is noticed after two of these without an answer. */
const pingEveryMs = 2_000;
const reconnectMs = 250;

/** A question under way. `reply` is where its answer goes, and no other question's does. */
interface Question {
  readonly reply: string;
  /** Nobody waits for the answer any more. */
  forget(): void;
}

/** `no one`: nobody listens on the subject. What cannot be read is `undefined`. */
type Take = (outcome: "answered" | "no one", body: unknown) => void;

interface Posted {
  readonly subject: string;
  readonly text: string;
  readonly options?: PublishOptions;
  /** Kept until NATS is back. */
  readonly lasting?: boolean;
}

const noResponders = 503;
const headerRoom = 256;

export class NatsLink {
  readonly name: string;
  readonly replicas: number;
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #inbox = `${createInbox()}.`;
  readonly #questions = new Map<string, Take>();
  /** What is said in one turn of the event loop goes out in one write at its end. */
  #outbox: Posted[] = [];
  #asked = 0;
  #connected = true;

  private constructor(connection: NatsConnection, { name, replicas }: NatsAddress) {
    this.#connection = connection;
    this.name = name;
    this.replicas = replicas;
    connection.subscribe(`${this.#inbox}*`, { callback: (_error, message) => this.#answered(message) });
    void this.#watchState();
  }

  /** A server that is still starting is waited for, but not for ever. */
  static async open(url: string, clientName: string, clock: Clock): Promise<NatsLink> {
    const address = readNatsAddress(url);
    const { user, password } = address;
    const until = clock.monotonic() + patienceAtStartMs;
    for (;;) {
      try {
        const connection = await connect({
          servers: address.server,
          name: clientName,
          timeout: attemptMs,
          ...(address.tls ? { tls: {} } : {}),
          ...(password === undefined
            ? user === undefined
              ? {}
              : { token: user }
            : { user: user ?? "", pass: password }),
          maxReconnectAttempts: -1,
          reconnectTimeWait: reconnectMs,
          reconnectJitter: reconnectMs,
          pingInterval: pingEveryMs,
          maxPingOut: 2,
          // Else every question costs the writing of two stacks that nobody reads.
          noAsyncTraces: true,
        });
        return new NatsLink(connection, address);
      } catch (error) {
        if (clock.monotonic() >= until) {
          throw new StartError(`NATS at ${address.server} cannot be reached (${messageOf(error)}).`);
        }
        await new Promise<void>((resolve) => {
          clock.after(pauseMs, resolve);
        });
      }
    }
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** The largest message the server takes. */
  get largestMessage(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024;
  }

  /** Whether this goes into one message, with its headers. */
  fits(text: string): boolean {
    const room = this.largestMessage - headerRoom;
    // A character takes three bytes at most, so that what is short need not be measured.
    return text.length * 3 <= room || Buffer.byteLength(text) <= room;
  }

  get server(): string {
    return this.#connection.getServer();
  }

  get buckets(): Kvm {
    return new Kvm(this.#connection);
  }

  get stream() {
    return jetstream(this.#connection);
  }

  async streams() {
    return await jetstreamManager(this.#connection);
  }

  onState(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subject(...parts: readonly string[]): string {
    return [this.name, ...parts].join(".");
  }

  /** Nothing is kept for later: what is said while nobody hears must not come true minutes after. */
  publish(subject: string, body: unknown): boolean {
    if (!this.#connected) return false;
    this.#post({ subject, text: encode(body) });
    return true;
  }

  subscribe(subject: string, take: (body: unknown, message: Msg) => void): () => void {
    const subscription = this.#subscription(subject, take);
    return () => subscription.unsubscribe();
  }

  /**
   * Like `subscribe`, for requests. Stopping takes those that the server has already sent here: it counted this node
   * as a responder, so the sender of a dropped one would wait for its deadline.
   */
  serve(subject: string, take: (body: unknown, message: Msg) => void): () => void {
    const subscription = this.#subscription(subject, take);
    return () => {
      // It rejects on a connection that closes, which drops every subscription.
      if (!subscription.isDraining()) subscription.drain().catch(() => {});
    };
  }

  /**
   * Answers with what has been written out already. An answer may be late: while this node alone has lost its
   * connection whoever asked still waits, and one that waits no more does not hear it.
   */
  respond({ reply }: Msg, text: string): void {
    if (reply !== undefined) this.#post({ subject: reply, text, lasting: true });
  }

  /**
   * A question that has been written out already. How long to wait, and what else ends the waiting, is the asker's:
   * nothing is told here when the link is lost.
   */
  ask(subject: string, text: string, take: Take, options: PublishOptions = {}): Question {
    this.#asked += 1;
    const token = this.#asked.toString(36);
    const reply = this.#inbox + token;
    this.#questions.set(token, take);
    this.#post({ subject, text, options: { ...options, reply } });
    return { reply, forget: () => this.#questions.delete(token) };
  }

  /** The first answer; `device_offline` where nobody listens on the subject. */
  async request(subject: string, body: unknown, timeoutMs: number): Promise<unknown> {
    if (!this.#connected) throw unreachable(false);
    try {
      const message = await this.#connection.request(subject, encode(body), { timeout: timeoutMs });
      return decode(message.data);
    } catch (error) {
      if (error instanceof RequestError && error.isNoResponders()) throw nobodyThere();
      if (error instanceof TimeoutError) throw nothingBack(timeoutMs);
      throw unreachable(true, error);
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#sendPosted();
    await this.#connection.close();
  }

  async flush(): Promise<void> {
    this.#sendPosted();
    if (this.#connected) await this.#connection.flush();
  }

  #subscription(subject: string, take: (body: unknown, message: Msg) => void): Subscription {
    return this.#connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return;
        const body = decode(message.data);
        if (body !== undefined) take(body, message);
      },
    });
  }

  #post(posted: Posted): void {
    if (this.#outbox.length === 0) setImmediate(() => this.#sendPosted());
    this.#outbox.push(posted);
  }

  #sendPosted(): void {
    const posted = this.#outbox;
    this.#outbox = [];
    if (this.#connection.isClosed()) return;
    for (const { subject, text, options, lasting } of posted) {
      if (!this.#connected && lasting !== true) continue;
      try {
        this.#connection.publish(subject, Buffer.from(text), options);
      } catch {
        // Closed meanwhile, or too large for a server that takes less than before: whoever waits has its deadline.
      }
    }
  }

  #answered(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length);
    const take = this.#questions.get(token);
    if (take === undefined) return;
    this.#questions.delete(token);
    if (message.data.length === 0 && message.headers?.code === noResponders) take("no one", undefined);
    else take("answered", decode(message.data));
  }

  async #watchState(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === "disconnect" || type === "staleConnection" || type === "close") this.#say(false);
      if (type === "reconnect") this.#say(true);
    }
  }

  #say(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    for (const listener of this.#listeners) listener(connected);
  }
}

/** A stream keeps a message with this id once, however often it comes. */
export function once(id: string): PublishOptions {
  const written = headers();
  written.set("Nats-Msg-Id", id);
  return { headers: written };
}

/** `sent`: the message may have arrived and been acted on. */
export function unreachable(sent: boolean, cause?: unknown): TendonError {
  const detail = sent
    ? "the node that holds this device was lost on the way; whether the call ran is not known"
    : "the node that holds this device cannot be reached; the call was not sent";
  return new TendonError("node_unreachable", detail, { sent }, cause);
}

export function nobodyThere(): TendonError {
  return new TendonError("device_offline", "no node holds this device", { sent: false });
}

export function nothingBack(timeoutMs: number): TendonError {
  const detail = `nothing came back within ${timeoutMs} ms`;
  return new TendonError("device_timeout", detail, { phase: "device", sent: true });
}

function encode(body: unknown): string {
  return JSON.stringify(body);
}

function decode(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
