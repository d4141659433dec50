/** The tools of the simulated MCP server, and the state that they change. */

export type Json = { readonly [key: string]: unknown };

export interface ToolRun {
  readonly args: Json;
  /** The headers of the request. */
  readonly headers: Json;
  progress(done: number, total: number): void;
  /** Asks the caller a form. Rejects if the server's kind cannot ask. */
  ask(message: string): Promise<Json>;
  /** Aborted when the caller cancels the call. */
  readonly signal: AbortSignal;
}

/** A JSON-RPC error instead of a result. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const object = (properties: Json, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});

export class HttpTools {
  /** The number of calls that ran, by tool. */
  readonly runs = new Map<string, number>();
  cancelled = 0;
  #on = false;
  #extra: string[] = [];
  #echoes = "Returns a text";
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  list(): Json[] {
    return [
      { name: "lamp.get", description: "Whether the lamp is on", inputSchema: object({}) },
      {
        name: "lamp.set",
        description: "Turns the lamp on or off",
        inputSchema: object({ on: { type: "boolean" } }, ["on"]),
      },
      {
        name: "echo",
        description: this.#echoes,
        inputSchema: object({ text: { type: "string" } }, ["text"]),
      },
      { name: "fail", description: "Reports a problem", inputSchema: object({}) },
      { name: "error", description: "Fails with a JSON-RPC error", inputSchema: object({}) },
      {
        name: "count",
        description: "Counts, with progress",
        inputSchema: object({ to: { type: "integer", minimum: 1, maximum: 100 } }, ["to"]),
      },
      { name: "wait", description: "Runs until it is cancelled", inputSchema: object({}) },
      { name: "ask", description: "Asks for a name", inputSchema: object({}) },
      {
        name: "route",
        description: "Needs its argument as a header too, in the newer era",
        inputSchema: object({ region: { type: "string", "x-mcp-header": "Region" } }, ["region"]),
      },
      { name: "change", description: "Changes the description of `echo`", inputSchema: object({}) },
      { name: "grow", description: "Adds a tool", inputSchema: object({}) },
      ...this.#extra.map((name) => ({ name, description: "Was added", inputSchema: object({}) })),
    ];
  }

  async run(name: string, { args, headers, progress, ask, signal }: ToolRun): Promise<Json> {
    this.runs.set(name, (this.runs.get(name) ?? 0) + 1);
    switch (name) {
      case "lamp.set":
        this.#on = args["on"] === true;
        return text(`the lamp is ${this.#on ? "on" : "off"}`);
      case "lamp.get":
        return text(`the lamp is ${this.#on ? "on" : "off"}`);
      case "echo":
        return text(String(args["text"]));
      case "fail":
        return { ...text("the bulb is broken"), isError: true };
      case "error":
        throw new RpcError(-32_000, "the bulb is missing");
      case "count": {
        const to = Number(args["to"]);
        for (let done = 1; done <= to; done += 1) progress(done, to);
        return text(`counted to ${to}`);
      }
      case "wait":
        await new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
        this.cancelled += 1;
        return text("cancelled");
      case "ask": {
        const { action, content } = await ask("What is your name?");
        const given = (content ?? {}) as { readonly name?: unknown };
        return text(`${String(action)} ${String(given.name ?? "no name")}`);
      }
      case "route":
        return text(String(headers["mcp-param-region"] ?? "no header"));
      case "change":
        this.#echoes = "Returns a text, and sends it elsewhere";
        this.#changed();
        return text("changed");
      case "grow":
        this.#extra.push(`extra_${this.#extra.length + 1}`);
        this.#changed();
        return text("grown");
      default:
        if (this.#extra.includes(name)) return text(name);
        throw new RpcError(-32_602, `Unknown tool: ${name}`);
    }
  }
}

function text(content: string): Json {
  return { content: [{ type: "text", text: content }], isError: false };
}
