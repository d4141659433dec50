/** One connection to NATS, with JSON messages. It reports its state, and every wait has a deadline. */
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

const connectTimeoutMs = 15_000;
const attemptMs = 3_000;
const pauseMs = 500;
/** A frozen server is detected after two pings without an answer. */
const pingEveryMs = 2_000;
const reconnectMs = 250;

/** A pending request. `reply` is the subject of its answer, unique to it. */
interface PendingRequest {
  readonly reply: string;
  /** Ignores the answer from now on. */
  forget(): void;
}

/** The body is `undefined` if there are no responders, or if it is not valid JSON. */
type Take = (outcome: "answered" | "no responders", body: unknown) => void;

interface Posted {
  readonly subject: string;
  readonly text: string;
  readonly options?: PublishOptions;
  /** Sent even while disconnected: the client library keeps it until NATS is back. */
  readonly lasting?: boolean;
}

const noRespondersStatus = 503;
const headerBytes = 256;

export class NatsLink {
  readonly name: string;
  readonly replicas: number;
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #inbox = `${createInbox()}.`;
  readonly #pending = new Map<string, Take>();
  /** Messages of one turn of the event loop, which are written together at its end. */
  #outbox: Posted[] = [];
  #requests = 0;
  #connected = true;

  private constructor(connection: NatsConnection, { name, replicas }: NatsAddress) {
    this.#connection = connection;
    this.name = name;
    this.replicas = replicas;
    connection.subscribe(`${this.#inbox}*`, { callback: (_error, message) => this.#answered(message) });
    void this.#watchState();
  }

  /** Waits for a server that is still starting, for a limited time. */
  static async open(url: string, clientName: string, clock: Clock): Promise<NatsLink> {
    const address = readNatsAddress(url);
    const { user, password } = address;
    const until = clock.monotonic() + connectTimeoutMs;
    for (;;) {
      try {
        const connection = await connect({
          servers: [...address.servers],
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
          // Otherwise every request would record two unused stack traces.
          noAsyncTraces: true,
        });
        return new NatsLink(connection, address);
      } catch (error) {
        if (clock.monotonic() >= until) {
          throw new StartError(
            `NATS at ${address.servers.join(", ")} cannot be reached (${messageOf(error)}).`,
          );
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

  /** The largest message that the server accepts, in bytes. */
  get largestMessage(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024;
  }

  /** Whether the text fits into one message with its headers. */
  fits(text: string): boolean {
    const maxBytes = this.largestMessage - headerBytes;
    // A character takes three bytes at most, so short texts need no measuring.
    return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
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

  /** Drops the message while disconnected: it must not take effect minutes later. */
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
   * Like `subscribe`, for requests. Stopping still handles the requests that the server has already sent: it counted this
   * node as a responder, so the sender of a dropped request would wait for its deadline.
   */
  serve(subject: string, take: (body: unknown, message: Msg) => void): () => void {
    const subscription = this.#subscription(subject, take);
    return () => {
      // It rejects on a connection that closes, which drops every subscription.
      if (!subscription.isDraining()) subscription.drain().catch(() => {});
    };
  }

  /**
   * Replies with serialised text. The reply is kept while this node is disconnected, because the requester may still
   * wait; one that no longer waits ignores it.
   */
  respond({ reply }: Msg, text: string): void {
    if (reply !== undefined) this.#post({ subject: reply, text, lasting: true });
  }

  /**
   * Sends a request with serialised text. The caller has the deadline, and must handle a lost connection itself: `take`
   * is not called then.
   */
  ask(subject: string, text: string, take: Take, options: PublishOptions = {}): PendingRequest {
    this.#requests += 1;
    const token = this.#requests.toString(36);
    const reply = this.#inbox + token;
    this.#pending.set(token, take);
    this.#post({ subject, text, options: { ...options, reply } });
    return { reply, forget: () => this.#pending.delete(token) };
  }

  /** The first answer; throws `device_offline` if the subject has no responders. */
  async request(subject: string, body: unknown, timeoutMs: number): Promise<unknown> {
    if (!this.#connected) throw unreachable(false);
    try {
      const message = await this.#connection.request(subject, encode(body), { timeout: timeoutMs });
      return decode(message.data);
    } catch (error) {
      if (error instanceof RequestError && error.isNoResponders()) throw noResponders();
      if (error instanceof TimeoutError) throw noAnswer(timeoutMs);
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
        // The connection was closed meanwhile, or the server's limit has become smaller. The requester has its deadline.
      }
    }
  }

  #answered(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length);
    const take = this.#pending.get(token);
    if (take === undefined) return;
    this.#pending.delete(token);
    if (message.data.length === 0 && message.headers?.code === noRespondersStatus)
      take("no responders", undefined);
    else take("answered", decode(message.data));
  }

  async #watchState(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === "disconnect" || type === "staleConnection" || type === "close") this.#setConnected(false);
      if (type === "reconnect") this.#setConnected(true);
    }
  }

  #setConnected(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    for (const listener of this.#listeners) listener(connected);
  }
}

/** The stream stores a message with this id once. */
export function once(id: string): PublishOptions {
  const written = headers();
  written.set("Nats-Msg-Id", id);
  return { headers: written };
}

/** `sent`: the other node may have received the request and acted on it. */
export function unreachable(sent: boolean, cause?: unknown): TendonError {
  const detail = sent
    ? "the node that holds this device was lost during the call; it is unknown whether the call ran"
    : "the node that holds this device cannot be reached; the call was not sent";
  return new TendonError("node_unreachable", detail, { sent }, cause);
}

export function noResponders(): TendonError {
  return new TendonError("device_offline", "no node holds this device", { sent: false });
}

export function noAnswer(timeoutMs: number): TendonError {
  const detail = `the node that holds this device did not answer within ${timeoutMs} ms`;
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
