/** A device that the fuzzer plays: it answers like a board, and its answers to calls can be anything. */
import { WebSocket } from "ws";

type Fields = { readonly [key: string]: unknown };

/** A call of one of its tools. Returns what the device sends, or nothing. */
export type OnCall = (
  id: number,
  name: string,
  args: Fields,
) => string | undefined | Promise<string | undefined>;

const tools = [
  {
    name: "self.get_device_status",
    description: "Status",
    inputSchema: { type: "object", properties: {} },
  },
  {
    name: "self.audio_speaker.set_volume",
    description: "Set the volume",
    inputSchema: {
      type: "object",
      properties: { volume: { type: "integer", minimum: 0, maximum: 100 } },
      required: ["volume"],
    },
  },
  {
    name: "self.screen.snapshot",
    description: "Snapshot",
    inputSchema: {
      type: "object",
      properties: {
        url: { type: "string" },
        quality: { type: "integer", default: 80, minimum: 1, maximum: 100 },
      },
      required: ["url"],
    },
  },
  { name: "any", description: "Takes anything", inputSchema: { type: "object", properties: {} } },
];

export const hello = JSON.stringify({
  type: "hello",
  version: 1,
  features: { mcp: true },
  transport: "websocket",
});

export const clientId = "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01";

export function envelope(payload: Fields): string {
  return JSON.stringify({ session_id: "", type: "mcp", payload });
}

function resultOf(name: string): Fields {
  const text = name === "self.get_device_status" ? '{"audio_speaker":{"volume":40}}' : "true";
  return { content: [{ type: "text", text }], isError: false };
}

/** A connection of a device. */
export interface Line {
  readonly isOpen: boolean;
  send(text: string): void;
  close(): void;
}

interface Listener {
  received(text: string): void;
  closed(): void;
}

/** Opens a connection; resolves when the device can send its hello. */
export type Dial = (url: string, id: string, listener: Listener) => Promise<Line>;

const dialWebSocket: Dial = async (url, id, listener) => {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/xiaozhi/v1/`, {
    headers: { "Device-Id": id, "Client-Id": clientId, "Protocol-Version": "1" },
    perMessageDeflate: false,
  });
  socket.on("error", () => undefined);
  socket.on("message", (data, isBinary) => {
    if (!isBinary) listener.received((data as Buffer).toString());
  });
  socket.once("close", () => listener.closed());
  await new Promise<void>((resolve) => {
    socket.once("open", resolve);
    socket.once("close", () => resolve());
  });
  return {
    get isOpen() {
      return socket.readyState === WebSocket.OPEN;
    },
    send: (text) => socket.send(text),
    close: () => socket.terminate(),
  };
};

export class FuzzDevice {
  readonly id: string;
  readonly #url: string;
  readonly #dial: Dial;
  #line: Line | undefined;
  #connection = 0;
  #pings = new Map<string, () => void>();
  #listed: () => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;
  #count = 0;
  onCall: OnCall | undefined;

  constructor(url: string, id: string, dial: Dial = dialWebSocket) {
    this.#url = url;
    this.id = id;
    this.#dial = dial;
  }

  get isOpen(): boolean {
    return this.#line?.isOpen === true;
  }

  /** Connects and is listed. */
  async connect(): Promise<void> {
    this.#line?.close();
    this.#connection += 1;
    const own = this.#connection;
    const listed = new Promise<void>((resolve, reject) => {
      this.#listed = resolve;
      this.#failed = reject;
    });
    this.#line = await this.#dial(this.#url, this.id, {
      received: (text) => {
        if (own === this.#connection) void this.#receive(text);
      },
      closed: () => {
        if (own === this.#connection) this.#closed();
      },
    });
    this.send(hello);
    if (!this.isOpen) this.#closed();
    await listed;
  }

  send(text: string): void {
    if (this.isOpen) this.#line?.send(text);
  }

  /** Whether the gateway has read everything before, and still answers. */
  async ping(): Promise<boolean> {
    if (!this.isOpen) return false;
    this.#count += 1;
    const id = `ping-${this.#count}`;
    const answered = new Promise<void>((resolve) => this.#pings.set(id, resolve));
    this.send(envelope({ jsonrpc: "2.0", id, method: "ping" }));
    await answered;
    return this.isOpen;
  }

  close(): void {
    this.#line?.close();
  }

  #closed(): void {
    this.#failed(new NotConnected("the gateway ended the connection"));
    for (const done of this.#pings.values()) done();
    this.#pings.clear();
  }

  async #receive(text: string): Promise<void> {
    const { type, payload } = JSON.parse(text) as { type: string; payload?: Fields };
    if (type !== "mcp" || payload === undefined) return;
    const { id, method, params = {} } = payload;
    if (typeof id === "string") {
      this.#pings.get(id)?.();
      this.#pings.delete(id);
    } else if (typeof id === "number") {
      const reply = await this.#answer(id, method, params as Fields);
      if (reply !== undefined) this.send(reply);
    }
  }

  async #answer(id: number, method: unknown, params: Fields): Promise<string | undefined> {
    if (method === "initialize") {
      const serverInfo = { name: "fuzz-board", version: "1.0.0" };
      return envelope({
        jsonrpc: "2.0",
        id,
        result: { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo },
      });
    }
    if (method === "tools/list") {
      // The second list, with the tools for users, is the last request of the setup.
      if (params["withUserTools"] === true) setImmediate(this.#listed);
      return envelope({ jsonrpc: "2.0", id, result: { tools } });
    }
    if (method !== "tools/call")
      return envelope({ jsonrpc: "2.0", id, error: { message: "unknown method" } });
    const name = String(params["name"]);
    if (this.onCall !== undefined) return await this.onCall(id, name, (params["arguments"] ?? {}) as Fields);
    return envelope({ jsonrpc: "2.0", id, result: resultOf(name) });
  }
}

class NotConnected extends Error {
  override readonly name = "NotConnected";
}
