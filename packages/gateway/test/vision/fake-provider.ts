/** A vision provider on a real socket, with scripted answers. */
import http, { type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Inbox } from "../../../../test/inbox.ts";

export interface Asked {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { role: string; content: readonly Record<string, unknown>[] }[];
  };
  /** Resolves when the client has disconnected. */
  readonly gone: Promise<void>;
}

export async function startProvider(answer: (response: ServerResponse) => void) {
  const asked = new Inbox<Asked>("question");
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const gone = new Promise<void>((resolve) => response.on("close", resolve));
      const body = JSON.parse(Buffer.concat(parts).toString()) as Asked["body"];
      asked.put({ url: request.url ?? "", headers: request.headers, body, gone });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    async stop(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

export function says(content: unknown): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content } }] }));
  };
}
