/**
 * One connection to an MCP server over HTTP as a device [HTD-1…]. It lasts while the server answers, over any number of
 * HTTP connections and sessions of the server.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { cleanAnswer, limits } from "@tendon/protocol";
import { messageOf } from "../errors.ts";
import type { OutboundStream } from "../outbound-stream.ts";
import type { DeviceInfo } from "./device-session.ts";
import { HttpTransport, httpErrorOf, streamErrorOf } from "./http-transport.ts";
import type { Listing } from "./listing.ts";
import { type Failure, McpDialect, type McpSdk, NoAnswer } from "./mcp-dialect.ts";
import { ProgramSession, type ProgramSessionDependencies } from "./program-session.ts";

export interface HttpSessionDependencies extends Omit<ProgramSessionDependencies, "flow"> {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly outbound: OutboundStream;
  /** The session has ended. */
  readonly closed: (reason: string) => void;
  /** The server has listed its tools. */
  readonly listed: () => void;
  /** A caller has given a request up, and the server may be gone. */
  readonly suspect: () => void;
}

const rewatchMs = 5_000;
const shownErrorLength = 300;
const methodNotFound = -32_601;

export class HttpSession extends ProgramSession {
  readonly kind = "http";
  readonly transport = "http";
  protected readonly sendFailure = "the server is not connected";
  protected readonly dialect: McpDialect;
  readonly #dependencies: HttpSessionDependencies;
  #transport: HttpTransport | undefined;
  #pingUnknown = false;
  #terminating: Promise<void> | undefined;

  constructor(dependencies: HttpSessionDependencies) {
    super({ ...dependencies, flow: dependencies.outbound });
    this.#dependencies = dependencies;
    const era = { probe: true };
    this.dialect = new McpDialect(this, {
      era,
      open: (sdk) => this.#open(sdk),
      failureOf: (error) => this.#failureOf(error),
      setupFailed: (error) => {
        era.probe = true;
        const failure = this.#failureOf(error);
        this.close(1008, failure.kind === "lost" ? failure.reason : this.#setupReason(error, failure));
      },
      watchLost: () => this.#watchLost(),
      abandoned: () => dependencies.suspect(),
    });
  }

  /** Whether the server reports changes of its tools by itself. */
  get reportsChanges(): boolean {
    return this.dialect.isWatching;
  }

  override ready(info: DeviceInfo, listing: Listing): void {
    super.ready(info, listing);
    this.#dependencies.listed();
  }

  /** Counts what the server sends, also what is not a message. */
  countBytes(bytes: number): void {
    this.intake.count(0, bytes);
  }

  relist(): void {
    this.dialect.relist();
  }

  /** Resolves if the server answers, whatever it answers. Rejects with the reason. */
  async probe(timeoutMs: number): Promise<void> {
    const usesPing = !this.dialect.isModern && !this.#pingUnknown;
    try {
      await this.dialect.ask(usesPing ? "ping" : "tools/list", timeoutMs);
      this.sign();
    } catch (error) {
      const failure = this.#failureOf(error);
      if (failure.kind === "expired") return await this.dialect.renew();
      if (failure.kind === "lost") throw new ProbeFailed(failure.reason, !failure.sent);
      if (error instanceof NoAnswer) throw new ProbeFailed(`the server does not answer (${error.message})`);
      if (httpErrorOf(error) !== undefined) throw new ProbeFailed(failure.message);
      // An error of the server is a sign of life.
      this.sign();
      if (usesPing && (error as { code?: unknown }).code === methodNotFound) {
        this.#pingUnknown = true;
        await this.probe(timeoutMs);
      }
    }
  }

  /** Ends the server's own session, if it has one. */
  async terminate(): Promise<void> {
    this.#terminating ??= this.#transport?.terminate();
    await this.#terminating;
  }

  close(_closeCode: number, reason: string, deviceLeft = true): void {
    this.ended(reason, deviceLeft);
    this.#dependencies.closed(reason);
  }

  protected floodReason(exceeded: "frames" | "bytes"): string {
    return `the server sends too many ${exceeded === "frames" ? "messages" : "bytes"}`;
  }

  #open(sdk: McpSdk): HttpTransport {
    const { url, headers, outbound } = this.#dependencies;
    this.#transport = new HttpTransport({
      sdk,
      clock: this.clock,
      url,
      headers,
      fetch: outbound.fetch,
      onMessage: (message, deliver) => this.#message(message, deliver),
      onSend: (message) => void this.record("out", JSON.stringify(message)),
      onAnswerLost: () => this.lost("the server closed the connection before it answered", true),
    });
    return this.#transport;
  }

  #message(message: JSONRPCMessage, deliver: () => void): void {
    const text = JSON.stringify(message);
    if (text.length > limits.processLineBytes.max) {
      this.notUnderstood("invalid", "a message is too long");
      return;
    }
    this.received(text, () => {
      this.dialect.received(message);
      deliver();
    });
  }

  #watchLost(): void {
    // A server that stops ends its streams first.
    this.#dependencies.suspect();
    this.clock.after(rewatchMs, () => {
      if (this.isClosed) return;
      // Changes may have been missed meanwhile.
      void this.dialect.rewatch().then(() => this.dialect.relist());
    });
  }

  #failureOf(error: unknown): Failure {
    const stream = streamErrorOf(error);
    if (stream?.kind === "too_large") return { kind: "answer", message: stream.message };
    if (stream !== undefined) {
      const reason =
        stream.kind === "refused" ? stream.message : `the server cannot be reached (${stream.message})`;
      return { kind: "lost", reason, sent: stream.sent };
    }
    const http = httpErrorOf(error);
    if (http === undefined) return { kind: "answer", message: this.#shown(messageOf(error)) };
    const hadSession = this.#transport?.sessionId !== undefined;
    // [HTD-5] 404 is the standard's answer. Many servers answer 400 with a text about the session instead.
    if (hadSession && (http.status === 404 || (http.status === 400 && /session/i.test(http.text))))
      return { kind: "expired" };
    return { kind: "answer", message: this.#httpReason(http) };
  }

  #setupReason(error: unknown, failure: Failure): string {
    const http = httpErrorOf(error);
    if (http !== undefined) return this.#httpReason(http);
    const detail = failure.kind === "answer" ? failure.message : messageOf(error);
    return `the server does not answer as an MCP server (${detail})`;
  }

  #httpReason({ status, text }: { readonly status: number; readonly text: string }): string {
    if (status === 401 || status === 403)
      return `the server rejects the request (HTTP ${status}); check the device's headers`;
    if (status >= 300 && status < 400)
      return `the server answers with a redirect (HTTP ${status}); set the address that it redirects to`;
    const shown = this.#shown(text);
    return `the server answered HTTP ${status}${shown === "" ? "" : `: ${shown}`}`;
  }

  /** The server's text, cut, and without the values of the headers, which it may quote. */
  #shown(text: string): string {
    const values = Object.values(this.#dependencies.headers).flatMap((value) => [value, ...value.split(" ")]);
    const masked = values
      .filter((value) => value.length >= 8)
      .reduce((shown, value) => shown.replaceAll(value, "(hidden)"), text);
    return cleanAnswer(masked).trim().slice(0, shownErrorLength);
  }
}

export class ProbeFailed extends Error {
  override readonly name = "ProbeFailed";
  /** There was no connection at all. */
  readonly isRefused: boolean;

  constructor(reason: string, isRefused = false) {
    super(reason);
    this.isRefused = isRefused;
  }
}
