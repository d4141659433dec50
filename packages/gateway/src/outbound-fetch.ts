/**
 * Every HTTP request that the gateway sends. The address comes from the settings: http or https, without credentials
 * in it. Redirects are not followed, so the request never reaches another address. The time and the size of the reply
 * are bounded.
 */
import type { Clock } from "./clock.ts";

export interface OutboundRequest {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The maximum size of the reply's body. */
  readonly maxBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Aborted when the caller stops waiting. */
  readonly signal?: AbortSignal | undefined;
}

export interface OutboundAnswer {
  readonly status: number;
  /** Empty unless the status is 200. */
  readonly text: string;
}

/** Its message may quote headers with a key, so show it only for requests without secrets. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly kind: "timeout" | "cancelled" | "too_large" | "unreachable";

  constructor(kind: OutboundError["kind"], cause?: unknown) {
    super(cause instanceof Error ? cause.message : kind, { cause });
    this.kind = kind;
  }
}

/** The problem of an address of the settings; `undefined` if requests to it are allowed. */
export function outboundAddressProblem(address: string): "protocol" | "credentials" | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) return "protocol";
  return url.username === "" && url.password === "" ? undefined : "credentials";
}

export async function outboundPost(address: string, request: OutboundRequest): Promise<OutboundAnswer> {
  const problem = outboundAddressProblem(address);
  if (problem !== undefined)
    throw new OutboundError("unreachable", new TypeError(`${problem} of the address`));
  const { clock, timeoutMs, maxBytes, headers, body, signal } = request;
  const late = new AbortController();
  const timer = clock.after(timeoutMs, () => late.abort());
  try {
    const response = await fetch(address, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]),
    });
    if (response.status === 200) return { status: 200, text: await readBody(response, maxBytes) };
    await response.body?.cancel();
    return { status: response.status, text: "" };
  } catch (error) {
    if (late.signal.aborted) throw new OutboundError("timeout", error);
    if (signal?.aborted === true) throw new OutboundError("cancelled", error);
    throw error instanceof OutboundError ? error : new OutboundError("unreachable", error);
  } finally {
    timer.cancel();
  }
}

async function readBody(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundError("too_large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
