/**
 * Requests to the gateway of a target. A gateway of this machine that speaks TLS is known by the very certificate it
 * serves, which its data folder names: who signed it, and for which name, does not matter then [TLS-3].
 *
 * Each request has a connection of its own. One that was kept from before a restart would fail in a way that leaves
 * open whether anything was sent; and the `fetch` of Node 20 never settles where a connection is closed as soon as it
 * is made.
 */
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { checkServerIdentity, type PeerCertificate, rootCertificates } from "node:tls";
import type { Target } from "./target.ts";

export interface GatewayRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export type GatewayFetch = (url: string, request?: GatewayRequest) => Promise<Response>;

export interface Patience {
  /** Until a connection stands, TLS included. */
  readonly connectMs: number;
  /** Without a byte in either direction, until an answer begins; a call may take 300 s. */
  readonly answerMs: number;
}

/** What a request fails with where it was taken and nobody has answered. */
export const unanswered = "TENDON_UNANSWERED";
const usualPatience: Patience = { connectMs: 10_000, answerMs: 320_000 };

export function fetchFrom(
  { certificate }: Pick<Target, "certificate">,
  { connectMs, answerMs } = usualPatience,
): GatewayFetch {
  const known = certificate === undefined ? undefined : readCertificate(certificate);
  const trust = known === undefined ? {} : trustIn(known);
  return (url, { body, ...request } = {}) =>
    new Promise((resolve, reject) => {
      const secure = url.startsWith("https:");
      const send = secure ? https.request : http.request;
      const outgoing = send(url, { ...trust, ...request, agent: false }, (incoming) => {
        // A stream of events may be silent for as long as it likes.
        outgoing.setTimeout(0);
        const status = incoming.statusCode ?? 0;
        const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((text): [string, string] => [name, text]),
        );
        // A status that has no body must not be given one.
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
    // The certificate itself is trusted, not only those who may sign others.
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
    // Whoever may not read it, or finds something else there, is told by the connection itself.
    return undefined;
  }
}
