/**
 * An independent device implementation: it follows the wire's rules and uses none of the project's code. It sends nothing
 * on its own; each test defines its answers.
 */
import type { DeviceWire } from "./transport.ts";

export type Fields = { readonly [key: string]: unknown };

export interface Frame extends Fields {
  readonly type: string;
}

export interface Request {
  readonly id: number;
  readonly method: string;
  readonly params: Fields;
  /** The whole JSON-RPC message as received. */
  readonly message: Fields;
}

export interface ToolEntry extends Fields {
  readonly name: string;
}

export interface Offer {
  readonly tools?: readonly ToolEntry[];
  readonly userTools?: readonly ToolEntry[];
  readonly board?: string;
  readonly firmware?: string;
}

export const firmwareHello: Fields = {
  type: "hello",
  version: 1,
  features: { mcp: true, glyph_push: false },
  transport: "websocket",
  audio_params: { format: "opus", sample_rate: 16000, channels: 1, frame_duration: 60 },
};

/** A mistake of a test, such as waiting for the wrong frame. */
class UnexpectedFrame extends Error {
  override readonly name = "UnexpectedFrame";
}

export function tool(name: string, properties: Fields = {}, required: readonly string[] = []): ToolEntry {
  return { name, description: `Does ${name}`, inputSchema: { type: "object", properties, required } };
}

export function textContent(text: string): Fields {
  return { content: [{ type: "text", text }], isError: false };
}

export class RawDevice {
  readonly wire: DeviceWire;
  readonly id: string;
  /** Everything that the gateway sent and the test has read, in order. */
  readonly frames: Frame[] = [];
  sessionId = "";

  readonly #beginsWithHello: boolean;
  readonly #arrived: () => Promise<void>;

  /** `arrived`: resolves when callers can see the device. */
  constructor(wire: DeviceWire, id: string, beginsWithHello = true, arrived = async () => {}) {
    this.wire = wire;
    this.id = id;
    this.#beginsWithHello = beginsWithHello;
    this.#arrived = arrived;
  }

  async nextFrame(type: string): Promise<Frame> {
    const frame = JSON.parse(await this.wire.nextText()) as Frame;
    this.frames.push(frame);
    if (frame.type !== type) {
      throw new UnexpectedFrame(`expected a frame of type ${type}, got ${JSON.stringify(frame)}`);
    }
    return frame;
  }

  /** Makes the device known: sends its hello on transports that start with one. */
  async greet(hello: Fields = firmwareHello): Promise<void> {
    if (this.#beginsWithHello) await this.sayHello(hello);
    await this.#arrived();
  }

  /** Sends hello and reads the answer, and the alert that follows if audio was offered. */
  async sayHello(hello: Fields = firmwareHello): Promise<Frame> {
    this.send(hello);
    const answer = await this.nextFrame("hello");
    this.sessionId = typeof answer["session_id"] === "string" ? answer["session_id"] : "";
    if (hello["audio_params"] !== undefined) await this.nextFrame("alert");
    return answer;
  }

  async nextMcp(): Promise<Fields> {
    const { payload } = await this.nextFrame("mcp");
    return payload as Fields;
  }

  async nextRequest(method: string): Promise<Request> {
    const message = await this.nextMcp();
    if (message["method"] !== method) {
      throw new UnexpectedFrame(`expected a request for ${method}, got ${JSON.stringify(message)}`);
    }
    const params = (message["params"] ?? {}) as Fields;
    return { id: message["id"] as number, method, params, message };
  }

  /** Answers `initialize` and both lists, each on one page. */
  async setUp(offer: Offer = {}): Promise<void> {
    const { tools = [], userTools = [], board = "raw-board", firmware = "9.9.9" } = offer;
    this.reply((await this.nextRequest("initialize")).id, {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: board, version: firmware },
    });
    await this.list(tools, userTools);
  }

  /** Answers both lists: with user-only tools, and without them. Its user-only tools have no annotation. */
  async list(tools: readonly ToolEntry[], userTools: readonly ToolEntry[] = []): Promise<void> {
    this.reply((await this.nextRequest("tools/list")).id, { tools: [...tools, ...userTools] });
    this.reply((await this.nextRequest("tools/list")).id, { tools });
  }

  reply(id: number, result: unknown): void {
    this.sendMcp({ jsonrpc: "2.0", id, result });
  }

  refuse(id: number, message: string): void {
    this.sendMcp({ jsonrpc: "2.0", id, error: { message } });
  }

  notify(method: string, params?: unknown): void {
    this.sendMcp({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
  }

  sendMcp(payload: unknown): void {
    this.send({ session_id: this.sessionId, type: "mcp", payload });
  }

  send(frame: Fields): void {
    this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): void {
    this.wire.sendText(text);
  }

  /**
   * A round trip: the gateway has read everything sent before, and everything it sent has arrived. Returns the gateway's
   * unsolicited messages in between.
   */
  async quiet(): Promise<Fields[]> {
    const mark = `quiet-${Math.random()}`;
    this.sendMcp({ jsonrpc: "2.0", id: mark, method: "ping" });
    const between: Fields[] = [];
    for (;;) {
      const message = await this.nextMcp();
      if (message["id"] === mark) return between;
      between.push(message);
    }
  }

  cut(): void {
    this.wire.cut();
  }

  close(): void {
    this.wire.close();
  }
}
