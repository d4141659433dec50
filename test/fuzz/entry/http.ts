/** Requests to the gateway, and the promises about its answers. */
import http from "node:http";
import net from "node:net";
import { isErrorCode } from "@tendon/protocol";
import { must } from "../target.ts";

export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string | undefined;
  readonly answerMs?: number;
}

export interface Answered {
  readonly status: number;
  readonly type: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64, maxTotalSockets: 64 });
/** An answer that goes on, such as events, is read for a moment. */
const streamMs = 30;
const usualAnswerMs = 5_000;

/** `undefined` if Node does not send such a request, or if the gateway ends the connection. */
export async function ask(
  base: string,
  asked: Asked,
  over: http.Agent | false = agent,
): Promise<Answered | undefined> {
  const { hostname, port } = new URL(base);
  const { method = "GET", path, headers = {}, body, answerMs = usualAnswerMs } = asked;
  // Node sends the body of a GET without its length, and the gateway would read it as the next request.
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  let request: http.ClientRequest;
  try {
    const all = { ...headers, ...length };
    request = http.request({ agent: over, hostname, port, method, path, headers: all, timeout: answerMs });
  } catch {
    return undefined;
  }
  return await new Promise((resolve, reject) => {
    request.once("timeout", () => {
      request.destroy();
      reject(new NoAnswer(`no answer within ${answerMs} ms: ${method} ${path}`));
    });
    // The gateway may end a kept connection at the moment at which the next request is sent.
    request.once("error", () => resolve(request.reusedSocket ? ask(base, asked, false) : undefined));
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      resolve(undefined);
    });
    request.once("response", (response) => {
      const chunks: Buffer[] = [];
      const type = response.headers["content-type"] ?? "";
      const done = () =>
        resolve({
          status: response.statusCode ?? 0,
          type,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("end", done);
      response.once("error", done);
      if (type.startsWith("text/event-stream")) {
        const timer = setTimeout(() => {
          done();
          response.destroy();
        }, streamMs);
        response.once("end", () => clearTimeout(timer));
      }
    });
    request.end(body);
  });
}

class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

export function asObject(text: string): { readonly [key: string]: unknown } {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? (value as { [key: string]: unknown }) : {};
  } catch {
    return {};
  }
}

/** Every refusal is a problem document with a code, and none is the gateway's own fault. */
export function outcomeOf(answered: Answered | undefined): string {
  if (answered === undefined) return "not sent";
  const { status, text } = answered;
  if (status < 400) return "ok";
  const { code } = asObject(text);
  must(typeof code === "string" && isErrorCode(code), `status ${status} has a code: ${text.slice(0, 300)}`);
  must(code !== "internal", `no internal error: ${text.slice(0, 300)}`);
  return String(code);
}

/**
 * Sends bytes as they are, at once or one by one, and more behind the first answer. Returns what came back until the end, or until a moment
 * after the last bytes were sent.
 */
export async function exchange(
  port: number,
  first: Buffer,
  quietMs: number,
  behind?: "bytes" | { readonly bytes: Buffer; readonly answerMs: number },
): Promise<Buffer> {
  return await new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    let more = behind === "bytes" ? undefined : behind;
    let timer = setTimeout(done, more?.answerMs ?? quietMs);
    function done(): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(chunks));
    }
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (isWhole(chunks)) done();
      else if (more !== undefined) {
        socket.write(more.bytes);
        more = undefined;
        clearTimeout(timer);
        timer = setTimeout(done, quietMs);
      }
    });
    socket.once("close", done);
    socket.on("error", () => undefined);
    socket.once("connect", () => {
      if (behind !== "bytes") socket.write(first);
      else for (const byte of first) socket.write(Buffer.from([byte]));
    });
  });
}

/** A complete HTTP answer with a length. */
function isWhole(chunks: readonly Buffer[]): boolean {
  const text = Buffer.concat(chunks).toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  if (end === -1 || !text.startsWith("HTTP/")) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}
