/** A real receiver on a free loopback port. Its answers are set by the test. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { onTestFinished } from "vitest";
import { until } from "../inbox.ts";

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Record<string, unknown>;
  };
}

export type Reply = (
  message: Message,
  response: http.ServerResponse,
  attempt: number,
) => void | Promise<void>;

export class Receiver {
  readonly url: string;
  readonly host: string;
  /** Every request, in the order of arrival. */
  readonly attempts: Message[] = [];
  /** The requests that were answered with 200. */
  readonly accepted: Message[] = [];
  reply: Reply = (_message, response) => void response.writeHead(200).end();

  private constructor(server: http.Server) {
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.url = `http://${this.host}/hook`;
    server.on("request", (request, response) => void this.#take(request, response));
  }

  static async open(): Promise<Receiver> {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return new Receiver(server);
  }

  /** Answers every request with this status. */
  answer(status: number, headers: Record<string, string> = {}): void {
    this.reply = (_message, response) => void response.writeHead(status, headers).end();
  }

  async received(count: number): Promise<Message[]> {
    await until(() => this.accepted.length >= count, `${count} accepted messages`);
    return this.accepted;
  }

  async attempted(count: number): Promise<Message[]> {
    await until(() => this.attempts.length >= count, `${count} requests`);
    return this.attempts;
  }

  async #take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const headers = request.headers as Record<string, string>;
    const message = { headers, text, body: JSON.parse(text) as Message["body"] };
    this.attempts.push(message);
    await this.reply(message, response, this.attempts.length);
    if (response.statusCode === 200) this.accepted.push(message);
  }
}

/** Verifies a message with the official library, and returns its content. Throws if the signature is wrong. */
export function verified({ text, headers }: Message, secret: string): unknown {
  return new Webhook(secret).verify(text, headers);
}
