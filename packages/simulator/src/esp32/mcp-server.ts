import { type ByteText, fromText, toText, wire } from "./byte-text.ts";
import { type CjsonNode, member, stringMember, toInt32 } from "./cjson-parse.ts";
import type { MainLoop } from "./main-loop.ts";
import { type BoundArguments, bindArguments, printResult, type Tool, toolCall } from "./tool.ts";
import { listPage } from "./tool-pages.ts";

/** One outgoing JSON-RPC message; `method` is the request it answers. */
export interface McpReply {
  readonly id: number;
  readonly method: string;
  readonly ok: boolean;
  readonly payload: ByteText;
}

type CheckedCall =
  | { readonly ok: true; readonly tool: Tool; readonly args: BoundArguments }
  | { readonly ok: false; readonly message: ByteText };

interface FinishedCall {
  readonly tool: string;
  readonly id: number;
  readonly error: string | undefined;
}

export interface McpServerHost {
  readonly loop: MainLoop;
  readonly name: string;
  readonly version: string;
  /** Firmware 1.x: `withUserTools` is unknown, every call runs on a thread of its own. */
  readonly threaded: boolean;
  /** A message fails a check of the firmware, which only logs it. `why` is the firmware's log line. */
  dropped(why: string): void;
  setVision(url: ByteText, token: ByteText): void;
  beforeCall(tool: string, id: number): Promise<void> | undefined;
  calling(tool: string, id: number, args: BoundArguments): void;
  finished(call: FinishedCall): void;
  /** Runs on the main loop. */
  send(reply: McpReply): void;
}

/**
 * The MCP server inside the device. It checks messages in the firmware's order. A message that fails an early check is
 * dropped without a reply, because the firmware only logs it. Error texts are inserted unescaped.
 */
export class McpServer {
  readonly #host: McpServerHost;
  readonly #tools: Tool[] = [];

  constructor(host: McpServerHost) {
    this.#host = host;
  }

  add(tool: Tool): void {
    this.#tools.push(tool);
  }

  /** The network stage: everything up to queuing the reply or the run. */
  receive(message: CjsonNode): void {
    const version = stringMember(message, "jsonrpc");
    if (version !== "2.0") {
      this.#host.dropped(`Invalid JSONRPC version: ${version ?? "null"}`);
      return;
    }
    const method = stringMember(message, "method");
    if (method === undefined) {
      this.#host.dropped("Missing method");
      return;
    }
    if (method.startsWith("notifications")) return;
    const params = member(message, "params");
    if (params !== undefined && params.kind !== "object") {
      this.#host.dropped(`Invalid params for method: ${toText(method)}`);
      return;
    }
    const id = member(message, "id");
    if (id?.kind === "number") this.#dispatch(method, params, toInt32(id.value));
    else this.#host.dropped(`Invalid id for method: ${toText(method)}`);
  }

  #dispatch(method: ByteText, params: CjsonNode | undefined, id: number): void {
    switch (method as string) {
      case "initialize":
        this.#initialize(params, id);
        return;
      case "tools/list":
        this.#list(params, id);
        return;
      case "tools/call":
        this.#call(params, id);
        return;
      default:
        this.#fail(id, method, wire`Method not implemented: ${method}`);
    }
  }

  #initialize(params: CjsonNode | undefined, id: number): void {
    const vision = member(member(params, "capabilities"), "vision");
    const url = stringMember(vision, "url");
    if (url !== undefined) this.#host.setVision(url, stringMember(vision, "token") ?? fromText(""));
    const { name, version } = this.#host;
    const info = wire`{"name":"${fromText(name)}","version":"${fromText(version)}"}`;
    this.#succeed(
      id,
      "initialize",
      wire`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":${info}}`,
    );
  }

  #list(params: CjsonNode | undefined, id: number): void {
    const cursor = stringMember(params, "cursor") ?? fromText("");
    const flag = member(params, "withUserTools");
    const withUserTools = !this.#host.threaded && flag?.kind === "boolean" && flag.value;
    const page = listPage(this.#tools, cursor, withUserTools);
    if (page.ok) this.#succeed(id, "tools/list", page.result);
    else this.#fail(id, "tools/list", page.message);
  }

  #call(params: CjsonNode | undefined, id: number): void {
    const checked = this.#check(params);
    if (!checked.ok) {
      this.#fail(id, "tools/call", checked.message);
      return;
    }
    const run = () => this.#run(checked.tool, id, checked.args);
    if (this.#host.threaded) void Promise.resolve().then(run);
    else this.#host.loop.schedule(run);
  }

  #check(params: CjsonNode | undefined): CheckedCall {
    if (params === undefined) return { ok: false, message: wire`Missing params` };
    const name = stringMember(params, "name");
    if (name === undefined) return { ok: false, message: wire`Missing name` };
    const given = member(params, "arguments");
    if (given !== undefined && given.kind !== "object")
      return { ok: false, message: wire`Invalid arguments` };
    const wanted = toText(name);
    const tool = this.#tools.find((candidate) => candidate.name === wanted);
    if (tool === undefined) return { ok: false, message: wire`Unknown tool: ${name}` };
    const bound = bindArguments(tool.properties, given);
    return bound.ok ? { ok: true, tool, args: bound.args } : bound;
  }

  #run(tool: Tool, id: number, args: BoundArguments): void | Promise<void> {
    const life = this.#host.loop.life;
    const settle = (error: string | undefined, reply: () => void): void => {
      if (life !== this.#host.loop.life) return;
      this.#host.finished({ tool: tool.name, id, error });
      reply();
    };
    const succeed = (value: Awaited<ReturnType<Tool["run"]>>): void =>
      settle(undefined, () => this.#succeed(id, "tools/call", printResult(value)));
    const fail = (thrown: unknown): void => {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      settle(message, () => this.#fail(id, "tools/call", fromText(message)));
    };
    const invoke = (): void | Promise<void> => {
      this.#host.calling(tool.name, id, args);
      try {
        const value = tool.run(args, toolCall(tool, id, args));
        if (value instanceof Promise) return value.then(succeed, fail);
        succeed(value);
      } catch (thrown) {
        fail(thrown);
      }
    };
    const delay = this.#host.beforeCall(tool.name, id);
    if (delay === undefined) return invoke();
    return delay.then(() => (life === this.#host.loop.life ? invoke() : undefined));
  }

  #succeed(id: number, method: string, result: ByteText): void {
    this.#queue({ id, method, ok: true, payload: wire`{"jsonrpc":"2.0","id":${id},"result":${result}}` });
  }

  #fail(id: number, method: string, message: ByteText): void {
    const payload = wire`{"jsonrpc":"2.0","id":${id},"error":{"message":"${message}"}}`;
    this.#queue({ id, method, ok: false, payload });
  }

  #queue(reply: McpReply): void {
    this.#host.loop.schedule(() => this.#host.send(reply));
  }
}
