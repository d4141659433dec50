/**
 * One outgoing endpoint [END-5…9]: dials the address of a voice agent and is its MCP server, under the principal of a
 * named token. Reconnects after a growing pause. The address contains a secret and is never shown or logged.
 */
import { cleanLine, type EndpointView, limits } from "@tendon/protocol";
import { WebSocket } from "ws";
import { asAgent, hasScope, NamedToken, type Principal, type Tokens } from "../../access/access.ts";
import { checkedLookup } from "../../checked-addresses.ts";
import { type Clock, isoTime, type Timer } from "../../clock.ts";
import { nearOnly, type OutgoingEndpoint as Settings } from "../../endpoint-settings.ts";
import { messageOf } from "../../errors.ts";
import type { EndpointEvents } from "../../events/events.ts";
import type { Hub, ViewSelection } from "../mcp/mcp.ts";
import { type AddressToken, readAddressToken } from "./address-token.ts";
import { HourlyCount } from "./hourly-count.ts";
import { keepAlive } from "./keep-alive.ts";
import { SocketTransport } from "./socket-transport.ts";

export interface OutgoingDependencies {
  readonly clock: Clock;
  readonly random: () => number;
  readonly node: string;
  readonly tokens: Pick<Tokens, "namesakes" | "onChange">;
  readonly events: EndpointEvents;
  readonly hub: () => Promise<Hub>;
  readonly spend: (principal: Principal) => void;
  readonly deviceOfSerial: (principal: Principal, serial: string) => Promise<string | undefined>;
  /** Asked before it connects. A node that was frozen must not disturb the one that took over. */
  readonly mayConnect: (id: string) => Promise<boolean>;
  /** The tools of a setting; `undefined` if it names an unknown device. */
  readonly selectionOf: (principal: Principal, view: string) => ViewSelection | undefined;
  /** Runs the work while fewer than a few others dial. */
  readonly dial: (work: () => Promise<void>) => Promise<void>;
}

type State =
  | { readonly kind: "stopped" | "waiting_for_token" | "connecting" }
  | { readonly kind: "connected"; readonly transport: SocketTransport }
  | { readonly kind: "retrying" | "replaced"; readonly timer: Timer; readonly at: number };

const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
const replacedPauseMs = 5 * 60_000;
/** A connection that lasted so long was good: the next pause is short again. */
const stableMs = 30_000;
/** Two connections that were closed sooner than this: another program takes them over. */
const shortLifeMs = 5_000;
const jitter = 0.2;
const handshakeMs = 10_000;
const warnBeforeMs = 30 * 24 * 60 * 60_000;
/** Self-hosted voice servers wait 30 s for an answer, hosted ones 300 s. */
const selfHostedCallMs = 28_000;
const hostedCallMs = 290_000;
const inUse = "another program uses the same address; end it, or give each its own agent";

export class OutgoingEndpoint {
  readonly id: string;
  readonly #url: URL;
  readonly #view: string;
  readonly #dependencies: OutgoingDependencies;
  readonly #addressToken: AddressToken;
  readonly #calls: HourlyCount;
  #token: NamedToken | undefined;
  #state: State = { kind: "stopped" };
  #since: number;
  #detail: string | undefined;
  #lastError: { readonly at: number; readonly message: string } | undefined;
  #failures = 0;
  #shortLives = 0;
  /** Counts the attempts: late events of an earlier one have no effect. */
  #attempt = 0;
  readonly #settings: Settings;

  constructor(settings: Settings, id: string, dependencies: OutgoingDependencies) {
    this.id = id;
    this.#settings = settings;
    this.#url = new URL(settings.url);
    this.#view = settings.view ?? "compact";
    this.#dependencies = dependencies;
    this.#addressToken = readAddressToken(this.#url);
    this.#calls = new HourlyCount(dependencies.clock);
    this.#since = dependencies.clock.now();
  }

  get running(): boolean {
    return this.#token !== undefined;
  }

  start(): void {
    if (this.#token !== undefined) return;
    this.#failures = 0;
    this.#token = new NamedToken(this.#dependencies.tokens, this.#settings.token, () => this.#restart());
    this.#restart();
  }

  stop(): void {
    this.#token?.stop();
    this.#token = undefined;
    this.#leave();
    this.#enter({ kind: "stopped" }, undefined);
  }

  view(): EndpointView {
    const state = this.#state;
    const { agent, expiresAt } = this.#addressToken;
    return {
      id: this.id,
      host: this.#url.host,
      token: this.#settings.token,
      view: this.#view,
      state: state.kind === "stopped" ? "connecting" : state.kind,
      since: isoTime(this.#since),
      detail: this.#detail ?? null,
      lastError:
        this.#lastError === undefined
          ? null
          : { at: isoTime(this.#lastError.at), message: this.#lastError.message },
      nextAttemptAt: "at" in state ? isoTime(state.at) : null,
      agent: agent ?? null,
      expiresAt: expiresAt === undefined ? null : isoTime(expiresAt),
      expiresSoon: this.#expiresSoon(),
      tools: state.kind === "connected" ? (state.transport.tools ?? null) : null,
      callsLastHour: this.#calls.count,
      node: this.#dependencies.node,
    };
  }

  /** What needs a person's attention. Public, so without the address. */
  warning(): string | undefined {
    if (!this.running) return undefined;
    const name = this.#name();
    if (this.#state.kind === "replaced") return `${name}: ${inUse}`;
    if (this.#state.kind === "waiting_for_token")
      return `${name}: ${this.#detail ?? "it waits for its token"}`;
    if (!this.#expiresSoon()) return undefined;
    const { expiresAt = 0 } = this.#addressToken;
    const day = isoTime(expiresAt).slice(0, 10);
    const expired = expiresAt <= this.#dependencies.clock.now();
    return `${name}: the token in its address ${expired ? "expired" : "expires"} on ${day}; get a new address from the agent's console`;
  }

  #name(): string {
    const { agent } = this.#addressToken;
    return `${this.#url.host}${agent === undefined ? "" : ` (agent ${agent})`}`;
  }

  #expiresSoon(): boolean {
    const { expiresAt } = this.#addressToken;
    return expiresAt !== undefined && expiresAt - this.#dependencies.clock.now() < warnBeforeMs;
  }

  /** Connects with the current token, or waits for one. */
  #restart(): void {
    this.#leave();
    const state = this.#token?.state;
    if (state?.kind === "waiting_for_token") {
      this.#enter({ kind: "waiting_for_token" }, state.detail);
      return;
    }
    if (state !== undefined) void this.#dependencies.dial(() => this.#connect(asAgent(state.principal)));
  }

  #leave(): void {
    this.#attempt += 1;
    if ("timer" in this.#state) this.#state.timer.cancel();
    if (this.#state.kind === "connected") this.#state.transport.closeWith(1000, "the gateway leaves");
  }

  #enter(state: State, detail: string | undefined): void {
    if (this.#state.kind !== state.kind) this.#since = this.#dependencies.clock.now();
    this.#state = state;
    this.#detail = detail;
    const shown = state.kind === "stopped" ? undefined : state.kind;
    this.#dependencies.events.outgoing(this.id, this.#name(), shown, detail);
  }

  async #connect(principal: Principal): Promise<void> {
    const attempt = this.#attempt;
    const isCurrent = () => attempt === this.#attempt && this.running;
    if (!isCurrent()) return;
    if (!hasScope(principal, "read")) {
      const detail = `the token \`${this.#settings.token}\` lacks the scope \`read\``;
      this.#enter({ kind: "waiting_for_token" }, detail);
      return;
    }
    const mayConnect = await this.#dependencies.mayConnect(this.id);
    if (!isCurrent()) return;
    if (!mayConnect) {
      this.stop();
      return;
    }
    this.#enter({ kind: "connecting" }, undefined);
    try {
      const selection = this.#dependencies.selectionOf(principal, this.#view);
      if (selection === undefined) throw new DialError(`no device has the alias of \`view: ${this.#view}\``);
      // Ready before it dials: some agents send their first requests without waiting.
      const hub = await this.#dependencies.hub();
      if (!isCurrent()) return;
      const socket = await this.#open(isCurrent);
      if (socket !== undefined) await this.#serve(hub, socket, principal, selection, isCurrent);
    } catch (error) {
      if (isCurrent())
        this.#failed(error instanceof DialError ? error.message : this.#plain(messageOf(error)));
    }
  }

  /** `undefined` if it is no longer needed when it has opened. */
  #open(isCurrent: () => boolean): Promise<WebSocket | undefined> {
    const { clock } = this.#dependencies;
    const socket = new WebSocket(this.#url, {
      perMessageDeflate: false,
      maxPayload: limits.mcpBodyBytes.max,
      followRedirects: false,
      ...(this.#url.protocol === "ws:" ? { lookup: checkedLookup(nearOnly) } : {}),
    });
    return new Promise((resolve, reject) => {
      const late = clock.after(handshakeMs, () => {
        reject(new DialError("it could not be reached in time"));
        socket.terminate();
      });
      socket.on("open", () => {
        late.cancel();
        if (isCurrent()) socket.pause();
        else socket.terminate();
        resolve(isCurrent() ? socket : undefined);
      });
      socket.on("unexpected-response", (request, response) => {
        late.cancel();
        response.resume();
        request.destroy();
        reject(new DialError(`it answered with status ${response.statusCode ?? 0}`));
      });
      socket.on("error", (error) => {
        late.cancel();
        reject(error);
      });
    });
  }

  async #serve(
    hub: Hub,
    socket: WebSocket,
    principal: Principal,
    selection: ViewSelection,
    isCurrent: () => boolean,
  ): Promise<void> {
    const { clock, events, spend, deviceOfSerial } = this.#dependencies;
    const openedAt = clock.monotonic();
    const transport = new SocketTransport(socket, {
      clock,
      calls: this.#calls,
      spend: () => spend(principal),
      ignored: () => events.ignored("agent"),
      deviceOfSerial: (serial) => deviceOfSerial(principal, serial),
    });
    keepAlive(socket, clock);
    socket.on("close", (code, reason) => {
      if (!isCurrent()) return;
      if (transport.flooded) this.#failed("it sent too many messages, so the gateway closed the connection");
      else this.#closed(code, cleanLine(reason.toString(), 100), clock.monotonic() - openedAt);
    });
    this.#enter({ kind: "connected", transport }, undefined);
    const selfHosted = this.#url.pathname.includes("/mcp_endpoint/");
    await hub.attach(principal, selection, transport, {
      maxTimeoutMs: selfHosted ? selfHostedCallMs : hostedCallMs,
      askerOf: (id) => transport.askerOf(id),
    });
  }

  #closed(code: number, reason: string, livedMs: number): void {
    if (livedMs >= stableMs) this.#failures = 0;
    this.#shortLives = code === 1000 && livedMs < shortLifeMs ? this.#shortLives + 1 : 0;
    const replaced = code === 1000 && /替换|replace/i.test(reason);
    if (!replaced && this.#shortLives < 2) {
      const what = code === 1006 ? "the connection was lost" : `it closed the connection (${code}`;
      this.#failed(code === 1006 ? what : `${what}${reason === "" ? "" : `: ${this.#plain(reason)}`})`);
      return;
    }
    this.#lastError = { at: this.#dependencies.clock.now(), message: inUse };
    this.#pause("replaced", replacedPauseMs, inUse);
  }

  #failed(message: string): void {
    this.#lastError = { at: this.#dependencies.clock.now(), message };
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#pause("retrying", pauseMs, message);
  }

  #pause(kind: "retrying" | "replaced", pauseMs: number, detail: string): void {
    const { clock, random } = this.#dependencies;
    const ms = Math.round(pauseMs * (1 - jitter + 2 * jitter * random()));
    const timer = clock.after(ms, () => this.#restart());
    this.#enter({ kind, timer, at: clock.now() + ms }, detail);
  }

  /** Some libraries quote the address in their errors. */
  #plain(text: string): string {
    const hidden = [this.#url.href, this.#settings.url, this.#url.search].filter((part) => part.length > 1);
    return hidden.reduce((shown, part) => shown.replaceAll(part, "…"), text);
  }
}

class DialError extends Error {}
