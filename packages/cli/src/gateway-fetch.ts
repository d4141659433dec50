/**
 * HTTP requests to a gateway. The data folder of a local gateway names the certificate it serves. That exact
 * certificate is trusted, whatever its issuer and host name [TLS-3].
 *
 * Each request opens its own connection. A kept-alive connection that broke in a restart would leave open whether the
 * request was sent. `fetch` is not used, because in Node 20 it never settles when the server closes a new connection.
 */
import fs from "node:fs";
import http, { type IncomingMessage } from "node:http";
import type https from "node:https";
import { Readable } from "node:stream";
import type { PeerCertificate } from "node:tls";
import type { Target } from "./target.ts";

interface GatewayRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** What the commands use of a `Response`. */
export interface GatewayResponse extends Pick<Response, "ok" | "status" | "body" | "text" | "json"> {
  readonly headers: Pick<Headers, "get">;
}

export type GatewayFetch = (url: string, request?: GatewayRequest) => Promise<GatewayResponse>;

export interface Timeouts {
  /** Until the connection is established, including TLS. */
  readonly connectMs: number;
  /** Idle time until the response begins. A call may take 300 s. */
  readonly answerMs: number;
}

/** Error code of a request that the server accepted and never answered. */
export const unanswered = "TENDON_UNANSWERED";
const defaultTimeouts: Timeouts = { connectMs: 10_000, answerMs: 320_000 };

export function fetchFrom(
  { certificate }: Pick<Target, "certificate">,
  { connectMs, answerMs } = defaultTimeouts,
): GatewayFetch {
  const known = certificate === undefined ? undefined : readCertificate(certificate);
  const trust = known === undefined ? {} : trustIn(known);
  return (url, { body, ...request } = {}) =>
    new Promise((resolve, reject) => {
      const secure = url.startsWith("https:");
      // Loaded when it is needed, like everything about certificates: it takes a tenth of a command's time.
      const send = secure ? process.getBuiltinModule("node:https").request : http.request;
      const outgoing = send(url, { ...trust, ...request, agent: false }, (incoming) => {
        // An event stream may be idle for any length of time.
        outgoing.setTimeout(0);
        resolve(new IncomingResponse(incoming));
      });
      const giveUp = (code: string) => outgoing.destroy(Object.assign(new Error("no answer"), { code }));
      const late = setTimeout(() => giveUp("ETIMEDOUT"), connectMs);
      outgoing.once("socket", (socket) => {
        socket.once(secure ? "secureConnect" : "connect", () => clearTimeout(late));
      });
      outgoing.once("close", () => clearTimeout(late));
      outgoing.setTimeout(answerMs, () => giveUp(unanswered));
      outgoing.once("error", reject);
      outgoing.end(body);
    });
}

/** An answer as a `Response`. Node's own loads a second HTTP client, which takes longer than a request. */
class IncomingResponse implements GatewayResponse {
  readonly status: number;
  readonly headers: Pick<Headers, "get">;
  readonly #incoming: IncomingMessage;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  constructor(incoming: IncomingMessage) {
    this.status = incoming.statusCode ?? 0;
    this.headers = {
      get(name) {
        const value = incoming.headers[name.toLowerCase()];
        return value === undefined ? null : [value].flat().join(", ");
      },
    };
    this.#incoming = incoming;
    if (this.#isBare) incoming.resume();
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.#isBare) return null;
    this.#body ??= Readable.toWeb(this.#incoming) as ReadableStream<Uint8Array<ArrayBuffer>>;
    return this.#body;
  }

  async text(): Promise<string> {
    if (this.#isBare) return "";
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#body ?? this.#incoming) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks).toString();
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  get #isBare(): boolean {
    return this.status === 204 || this.status === 304;
  }
}

interface Certificate {
  readonly pem: string;
  readonly fingerprint256: string;
}

function trustIn({ pem, fingerprint256 }: Certificate): https.RequestOptions {
  const { checkServerIdentity, rootCertificates } = process.getBuiltinModule("node:tls");
  return {
    ca: [...rootCertificates, pem],
    // Trust the certificate itself, even where it is not a certificate authority.
    allowPartialTrustChain: true,
    checkServerIdentity: (host: string, shown: PeerCertificate) =>
      shown.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, shown),
  };
}

function readCertificate(file: string): Certificate | undefined {
  try {
    const { X509Certificate } = process.getBuiltinModule("node:crypto");
    const pem = fs.readFileSync(file, "utf8");
    return { pem, fingerprint256: new X509Certificate(pem).fingerprint256 };
  } catch {
    // Unreadable or not a certificate: the connection then fails with its own error.
    return undefined;
  }
}
