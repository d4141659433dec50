/**
 * MCP over one WebSocket, one JSON-RPC object per text frame, for the SDK's server [END-1…4]. The peers are voice agents:
 * ids may have any type and may be used again before they are answered, so the server gets ids of its own. Answers have
 * exactly the id of the request.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import {
  type CallAsker,
  cleanLine,
  endpointLimits,
  isObject,
  type JsonObject,
  limits,
  parseJson,
} from "@tendon/protocol";
import type { WebSocket } from "ws";
import type { Clock } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import { Intake, programRates } from "../../intake.ts";
import { askerIn, plainParams } from "./asker.ts";
import { HourlyCount } from "./hourly-count.ts";
import { voiceResult, voiceTools } from "./voice-answer.ts";

export interface SocketTransportDependencies {
  readonly clock: Clock;
  /** Counts a request of the principal. Throws `rate_limited`. */
  readonly spend: () => void;
  /** A frame that is not a message was ignored. */
  readonly ignored: () => void;
  readonly deviceOfSerial: (serial: string) => Promise<string | undefined>;
  readonly calls?: HourlyCount;
}

interface PendingRequest {
  /** As the peer sent it. */
  readonly id: unknown;
  readonly method: string;
  readonly asker: CallAsker | undefined;
  /** A page after the first. */
  readonly continued: boolean;
}

const closeGraceMs = 1_000;
const INVALID_REQUEST = -32600;

export class SocketTransport implements Transport {
  readonly calls: HourlyCount;
  readonly #socket: WebSocket;
  readonly #dependencies: SocketTransportDependencies;
  readonly #intake: Intake;
  readonly #pending = new Map<number, PendingRequest>();
  #lastId = 0;
  #tools: number | undefined;
  #client: string | undefined;
  #closed = false;
  #flooded = false;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(socket: WebSocket, dependencies: SocketTransportDependencies) {
    this.#socket = socket;
    this.#dependencies = dependencies;
    this.calls = dependencies.calls ?? new HourlyCount(dependencies.clock);
    this.#intake = new Intake(dependencies.clock, programRates, {
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      cut: () => {
        this.#flooded = true;
        this.closeWith(1008, "too many messages");
      },
    });
  }

  /** The number of tools in the peer's last list. */
  get tools(): number | undefined {
    return this.#tools;
  }

  /** The peer, as it names itself. */
  get client(): string | undefined {
    return this.#client;
  }

  /** Whether the gateway closed the connection because the peer sent too much. */
  get flooded(): boolean {
    return this.#flooded;
  }

  start(): Promise<void> {
    // It may have ended while the server was made ready for it.
    if (this.#closed || this.#socket.readyState !== this.#socket.OPEN) {
      this.#closed = true;
      queueMicrotask(() => this.onclose?.());
      return Promise.resolve();
    }
    this.#socket.on("message", (data, isBinary) => {
      // Safe: `binaryType` is never set, so that messages are buffers.
      const bytes = data as Buffer;
      if (this.#closed || !this.#intake.count(1, bytes.byteLength)) return;
      if (isBinary) this.#dependencies.ignored();
      else this.#receive(bytes.toString());
    });
    this.#socket.on("ping", () => this.#intake.count(1, 0));
    this.#socket.on("close", () => this.#ended());
    // The opener paused it, because a peer may send at once.
    this.#socket.resume();
    return Promise.resolve();
  }

  async askerOf(requestId: unknown): Promise<CallAsker | undefined> {
    const asker = this.#pending.get(Number(requestId))?.asker;
    if (asker?.serialNumber === undefined) return asker;
    const device = await this.#dependencies.deviceOfSerial(asker.serialNumber);
    return device === undefined ? asker : { device, ...asker };
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message) this.#write(message);
    else this.#answer(Number(message.id), message as unknown as JsonObject);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.closeWith(1000, "the gateway closes the connection");
    return Promise.resolve();
  }

  closeWith(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const timer = this.#dependencies.clock.after(closeGraceMs, () => this.#socket.terminate());
    this.#socket.once("close", () => timer.cancel());
    this.#ended();
  }

  #ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#intake.end();
    this.#pending.clear();
    this.onclose?.();
  }

  #receive(text: string): void {
    const message = parseJson(text);
    if (!isObject(message)) {
      this.#dependencies.ignored();
      return;
    }
    const { method } = message;
    if (typeof method !== "string") this.#receiveAnswer(message);
    else if ("id" in message) this.#request(message["id"], method, message["params"]);
    else this.#notification(method, isObject(message["params"]) ? message["params"] : undefined);
  }

  #request(id: unknown, method: string, given: unknown): void {
    // Peers send pings for ever, and give up a connection that does not answer them.
    if (method === "ping") {
      this.#write({ jsonrpc: "2.0", id, result: {} });
      return;
    }
    const params = isObject(given) ? given : {};
    const isCall = method === "tools/call";
    const asker = isCall ? askerIn(params) : undefined;
    const pending = { id, method, asker, continued: typeof params["cursor"] === "string" };
    try {
      if (this.#pending.size >= endpointLimits.requests.max)
        throw new TendonError("rate_limited", "too many unanswered requests on this connection");
      this.#dependencies.spend();
    } catch (error) {
      if (!(error instanceof TendonError)) throw error;
      this.#refuse(pending, error);
      return;
    }
    if (isCall) this.calls.add();
    if (method === "initialize") this.#client = clientIn(params);
    this.#lastId += 1;
    this.#pending.set(this.#lastId, pending);
    this.#deliver({ jsonrpc: "2.0", id: this.#lastId, method, params: plainParams(params) });
  }

  #notification(method: string, params: JsonObject | undefined): void {
    if (method !== "notifications/cancelled") {
      this.#deliver({
        jsonrpc: "2.0",
        method,
        ...(params === undefined ? {} : { params: plainParams(params) }),
      });
      return;
    }
    for (const [requestId, { id }] of this.#pending) {
      if (id !== params?.["requestId"]) continue;
      // The SDK does not answer a cancelled request.
      this.#pending.delete(requestId);
      this.#deliver({ jsonrpc: "2.0", method, params: { requestId } });
    }
  }

  /** An answer to a request of the server, such as `roots/list`. */
  #receiveAnswer(message: JsonObject): void {
    const { id, result, error } = message;
    if (typeof id !== "number" && typeof id !== "string") this.#dependencies.ignored();
    else if (isObject(error)) this.#deliver({ jsonrpc: "2.0", id, error });
    else if (isObject(result)) this.#deliver({ jsonrpc: "2.0", id, result });
    else this.#dependencies.ignored();
  }

  #deliver(message: object): void {
    // The SDK checks every field itself.
    this.onmessage?.(message as JSONRPCMessage);
  }

  #answer(requestId: number, { result, error }: JsonObject): void {
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    this.#pending.delete(requestId);
    if (!isObject(result)) this.#write({ jsonrpc: "2.0", id: pending.id, error });
    else this.#write({ jsonrpc: "2.0", id: pending.id, result: this.#asVoice(pending, result) });
  }

  #asVoice({ method, continued }: PendingRequest, result: JsonObject): JsonObject {
    if (method === "tools/call") return voiceResult(result);
    if (method !== "tools/list") return result;
    const plain = voiceTools(result);
    const count = (plain["tools"] as unknown[]).length;
    this.#tools = continued ? (this.#tools ?? 0) + count : count;
    return plain;
  }

  /** A call fails with a result, because these agents show only that to their model. */
  #refuse({ id, method }: PendingRequest, { code, message }: TendonError): void {
    const text = `${code}: ${message}`;
    if (method === "tools/call")
      this.#write({
        jsonrpc: "2.0",
        id,
        result: voiceResult({ content: [{ type: "text", text }], isError: true }),
      });
    else this.#write({ jsonrpc: "2.0", id, error: { code: INVALID_REQUEST, message: text } });
  }

  #write(message: object): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > limits.mcpStreamBufferBytes.max) this.#socket.terminate();
    else this.#socket.send(JSON.stringify(message));
  }
}

function clientIn({ clientInfo }: JsonObject): string | undefined {
  if (!isObject(clientInfo) || typeof clientInfo["name"] !== "string") return undefined;
  const { name, version } = clientInfo;
  return cleanLine(`${name} ${typeof version === "string" ? version : ""}`.trim(), 128);
}
