import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { TlsTrust } from "./device-options.ts";
import type { DeviceHttp, HttpAnswer, HttpBody, HttpOutcome } from "./http.ts";
import { parseHttpAddress } from "./http-address.ts";

/** The firmware's timeouts, for the headers and then again for the body. */
const waitMs = 30_000;

export const nodeHttp: DeviceHttp = nodeHttpTrusting({});

/** An HTTP client with TLS options. */
export function nodeHttpTrusting(tls: TlsTrust): DeviceHttp {
  return {
    get: async (url, signal) => await exchange(tls, "GET", url, {}, [], signal),
    post: async (url, headers, chunks, signal) => await exchange(tls, "POST", url, headers, chunks, signal),
  };
}

async function exchange(
  { ca, insecureTls }: TlsTrust,
  method: "GET" | "POST",
  url: string,
  headers: Readonly<Record<string, string>>,
  chunks: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<HttpOutcome> {
  const target = parseHttpAddress(url);
  if (target === undefined) return { kind: "unopened", cause: `not an http address: ${url}` };
  const { secure, host, port, path } = target;
  const open = secure ? httpsRequest : httpRequest;
  const trust = { ...(ca === undefined ? {} : { ca }), rejectUnauthorized: insecureTls !== true };
  return await new Promise((resolve) => {
    const options = { ...trust, host, port, path, method, headers, agent: false, signal, timeout: waitMs };
    const request = open(options);
    request.on("response", (response) => resolve(answer(response)));
    request.on("timeout", () => request.destroy());
    request.on("error", (cause) => resolve({ kind: "unopened", cause }));
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

function answer(response: IncomingMessage): HttpAnswer {
  const announced = response.headers["content-length"];
  // read() reports a connection that breaks later; without a listener it would be an uncaught exception.
  response.on("error", () => undefined);
  return {
    kind: "answered",
    status: response.statusCode ?? 0,
    contentLength: announced === undefined ? undefined : Number(announced),
    read: async (limit) => await readAll(response, limit),
    discard: () => {
      response.destroy();
    },
  };
}

async function readAll(response: IncomingMessage, limit: number): Promise<HttpBody> {
  const parts: Buffer[] = [];
  let length = 0;
  response.setTimeout(waitMs, () => response.destroy());
  try {
    const body: AsyncIterable<Buffer> = response.iterator({ destroyOnReturn: false });
    for await (const part of body) {
      length += part.length;
      if (length > limit) {
        response.setTimeout(0);
        return { kind: "too-long" };
      }
      parts.push(part);
    }
  } catch {
    return { kind: "broken-off" };
  }
  return response.complete ? { kind: "whole", bytes: Buffer.concat(parts) } : { kind: "broken-off" };
}
