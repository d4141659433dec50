/** The lines of a program that runs as a device. */
import net from "node:net";
import { seeds } from "../seeds.ts";
import { must } from "../target.ts";
import type { Entry, Sender } from "./entry.ts";
import { ask, asObject, outcomeOf } from "./http.ts";

const ready = JSON.stringify({
  type: "ready",
  version: "1",
  tools: [{ name: "any", description: "x", input_schema: { type: "object", properties: {} } }],
});

/** Waits for the program that the gateway runs, and speaks for it. */
export class LineProgram {
  readonly #server: net.Server;
  #socket: net.Socket | undefined;
  #text = "";
  #connected: (() => void)[] = [];
  /** What the program says to a call, before its own answer. */
  before: Buffer = Buffer.alloc(0);

  private constructor(server: net.Server) {
    this.#server = server;
    server.on("connection", (socket) => {
      this.#socket = socket;
      this.#text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => this.#receive(chunk.toString()));
      socket.write(`${ready}\n`);
      for (const done of this.#connected.splice(0)) done();
    });
  }

  static async open(): Promise<LineProgram> {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new LineProgram(server);
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Resolves when the gateway runs the program. */
  async running(): Promise<void> {
    if (this.#socket !== undefined && !this.#socket.destroyed) return;
    await new Promise<void>((resolve) => this.#connected.push(resolve));
  }

  /** Says it without a call, and lists its tool again, which another `ready` has replaced. */
  say(input: Buffer): void {
    this.#socket?.write(input);
    this.#socket?.write(`\n${ready}\n`);
  }

  close(): void {
    this.#socket?.destroy();
    this.#server.close();
  }

  #receive(text: string): void {
    this.#text += text;
    const lines = this.#text.split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      const { type, id } = asObject(line);
      if (type !== "call") continue;
      this.#socket?.write(this.before);
      this.#socket?.write(`\n${JSON.stringify({ type: "result", id, ok: true, result: { ok: true } })}\n`);
    }
  }
}

/** The line comes before the answer of a call. A `ready` in it may take the tool away. */
export function lineEntry(program: LineProgram): Entry {
  return {
    name: "program-lines",
    workers: 1,
    maxBytes: 128 * 1024,
    seeds: () => seeds.lines,
    async open(site): Promise<Sender> {
      await program.running();
      let isListed = true;
      return {
        async send(input) {
          await program.running();
          if (isListed) program.before = input;
          else program.say(input);
          const answered = await ask(site.url, {
            method: "POST",
            path: "/api/v1/devices/program/tools/any/call",
            headers: { authorization: `Bearer ${site.adminToken}`, "content-type": "application/json" },
            body: '{"arguments":{},"timeoutMs":1000}',
          });
          must(answered !== undefined, "a call of a program is answered");
          const outcome = outcomeOf(answered);
          isListed = outcome === "ok";
          return outcome;
        },
        close: () => undefined,
      };
    },
  };
}
