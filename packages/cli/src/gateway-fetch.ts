/**
 * HTTP requests to a gateway. The data folder of a local gateway names the certificate it serves. That exact
 * certificate is trusted, whatever its issuer and host name [TLS-3].
 *
 * Each request opens its own connection. A kept-alive connection that broke in a restart would leave open whether the
 * request was sent. `fetch` is not used, because in Node 20 it never settles when the server closes a new connection.
 */
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { checkServerIdentity, type PeerCertificate, rootCertificates } from "node:tls";
import type { Target } from "./target.ts";

interface GatewayRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export type GatewayFetch = (url: string, request?: GatewayRequest) => Promise<Response>;

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
      const send = secure ? https.request : http.request;
      const outgoing = send(url, { ...trust, ...request, agent: false }, (incoming) => {
        // An event stream may be idle for any length of time.
        outgoing.setTimeout(0);
        const status = incoming.statusCode ?? 0;
        const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((text): [string, string] => [name, text]),
        );
        // `Response` rejects a body with these statuses.
        const bare = status === 204 || status === 304;
        const stream = bare ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
        if (bare) incoming.resume();
        resolve(new Response(stream, { status, headers }));
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

interface Certificate {
  readonly pem: string;
  readonly fingerprint256: string;
}

function trustIn({ pem, fingerprint256 }: Certificate): https.RequestOptions {
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
    const pem = fs.readFileSync(file, "utf8");
    return { pem, fingerprint256: new X509Certificate(pem).fingerprint256 };
  } catch {
    // Unreadable or not a certificate: the connection then fails with its own error.
    return undefined;
  }
}
