/** A client of the home over real streams, in the same process. */
import { PassThrough } from "node:stream";
import {
  type HomeServer,
  type HomeServerOptions,
  SimulatedHome,
  serveHome,
  streamInput,
} from "../../src/index.ts";

export class HomeClient {
  readonly input = new PassThrough();
  readonly output: PassThrough;
  readonly server: HomeServer;
  readonly #lines: string[] = [];
  #rest = "";
  #waiting: (() => void) | undefined;

  constructor(options: Partial<HomeServerOptions> = {}) {
    this.output = new PassThrough();
    this.output.setEncoding("utf8");
    this.output.on("data", (text: string) => {
      const parts = (this.#rest + text).split("\n");
      this.#rest = parts.pop() ?? "";
      this.#lines.push(...parts);
      this.#waiting?.();
    });
    this.server = serveHome({
      home: new SimulatedHome(),
      input: streamInput(this.input),
      output: this.output,
      ...options,
    });
  }

  send(...lines: readonly string[]): void {
    this.input.write(lines.map((line) => `${line}\n`).join(""));
  }

  /** The next line of the server. */
  async next(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  async ask(line: string): Promise<string> {
    this.send(line);
    return await this.next();
  }

  async call(tool: string, args?: object): Promise<unknown> {
    const answer = JSON.parse(await this.ask(JSON.stringify({ type: "call", id: 1, tool, args }))) as {
      readonly result?: unknown;
      readonly error?: string;
    };
    return answer.error ?? answer.result;
  }
}

/** A client that has received `ready`. */
export async function homeClient(options: Partial<HomeServerOptions> = {}): Promise<HomeClient> {
  const client = new HomeClient(options);
  await client.next();
  return client;
}
