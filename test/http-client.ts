import http from "node:http";
import https from "node:https";
import { secretWatch } from "./secret-watch.ts";

/** Any JSON, for assertions. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; an empty object if it is not JSON. */
  readonly body: { [key: string]: Json };
}

export interface Ask {
  readonly method?: string;
  /** Sent unchanged, without normalization. */
  readonly path: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

function open(base: string, ask: Ask): http.ClientRequest {
  const { hostname, port, protocol } = new URL(base);
  // Trust is tested elsewhere; here any test certificate is accepted.
  const options = { hostname, port, agent: false, rejectUnauthorized: false };
  const request = (protocol === "https:" ? https : http).request({
    ...options,
    method: ask.method ?? "GET",
    path: ask.path,
    headers: ask.headers ?? {},
    ...(ask.signal === undefined ? {} : { signal: ask.signal }),
  });
  request.end(ask.body);
  return request;
}

/** Resolves when the response headers have arrived. */
export async function ask(base: string, question: Ask): Promise<http.IncomingMessage> {
  secretWatch.asked(question.method ?? "GET", question.path, question.headers ?? {}, question.body);
  const request = open(base, question);
  return await new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
}

export async function askAll(base: string, question: Ask): Promise<Answer> {
  const response = await ask(base, question);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const { statusCode: status = 0, headers } = response;
  secretWatch.answered(question.method ?? "GET", question.path, status, headers, text);
  return { status, headers, text, body: asObject(text) };
}

export function asObject(text: string): { [key: string]: Json } {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
