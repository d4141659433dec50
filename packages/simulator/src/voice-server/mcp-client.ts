/** The server's MCP client for a board: ids from 1, as in simple servers; pages one after the other. */
export interface McpReplyMessage {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly message?: string; readonly code?: number };
}

export class VoiceMcpClient {
  readonly #send: (payload: object) => void;
  readonly #waiting = new Map<number, (reply: McpReplyMessage) => void>();
  #nextId = 1;
  /** The tools that the board has listed. */
  tools: readonly { readonly name: string }[] = [];

  constructor(send: (payload: object) => void) {
    this.#send = send;
  }

  async request(method: string, params?: object): Promise<McpReplyMessage> {
    const id = this.#nextId;
    this.#nextId += 1;
    return await new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    });
  }

  async setUp(capabilities: object): Promise<void> {
    await this.request("initialize", {
      protocolVersion: "2024-11-05",
      capabilities,
      clientInfo: { name: "voice-server", version: "1.0.0" },
    });
    const tools: { name: string }[] = [];
    let cursor: string | undefined;
    do {
      const reply = await this.request("tools/list", cursor === undefined ? {} : { cursor });
      const page = (reply.result ?? {}) as { tools?: { name: string }[]; nextCursor?: string };
      tools.push(...(page.tools ?? []));
      cursor = page.nextCursor;
    } while (cursor !== undefined && cursor !== "");
    this.tools = tools;
  }

  async call(name: string, args: object = {}): Promise<McpReplyMessage> {
    return await this.request("tools/call", { name, arguments: args });
  }

  received(payload: unknown): void {
    const reply = payload as McpReplyMessage;
    const settle = this.#waiting.get(reply?.id);
    if (settle === undefined) return;
    this.#waiting.delete(reply.id);
    settle(reply);
  }
}
