/**
 * Requests to the gateway of a target. A gateway of this machine that speaks TLS is known by the very certificate it
 * serves, which its data folder names: who signed it, and for which name, does not matter then [TLS-3].
 */
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
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

export function fetchFrom({ certificate }: Target): GatewayFetch {
  const known = certificate === undefined ? undefined : readCertificate(certificate);
  return known === undefined ? (url, request) => fetch(url, request) : pinned(known);
}

function pinned({ pem, fingerprint256 }: { pem: string; fingerprint256: string }): GatewayFetch {
  const trust = {
    ca: [...rootCertificates, pem],
    // The certificate itself is trusted, not only those who may sign others.
    allowPartialTrustChain: true,
    checkServerIdentity: (host: string, shown: PeerCertificate) =>
      shown.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, shown),
  };
  return (url, { body, ...request } = {}) =>
    new Promise((resolve, reject) => {
      const outgoing = https.request(url, { ...trust, ...request, agent: false }, (incoming) => {
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
      outgoing.once("error", reject);
      outgoing.end(body);
    });
}

/** In words, where somebody listens who may speak the other of http and https. */
export function wrongScheme(url: string, error: unknown): string | undefined {
  const { code } = faultOf(error);
  if (url.startsWith("https:")) {
    if (!/^(ERR_SSL_|EPROTO)/.test(code)) return undefined;
    return `What listens at ${url} does not speak TLS. Say http:// if it is a gateway without a certificate.`;
  }
  if (!/^(ECONNRESET|UND_ERR_SOCKET|HPE_)/.test(code)) return undefined;
  return `The connection to ${url} broke off without an answer. Say https:// if the gateway there has a certificate.`;
}

function faultOf(error: unknown): { fault: unknown; code: string } {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return { fault, code: fault instanceof Error && "code" in fault ? String(fault.code) : "" };
}

/** Why a certificate was not believed; `undefined` where something else went wrong. */
export function distrust(error: unknown): string | undefined {
  const { fault, code } = faultOf(error);
  const known = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_)/.test(code);
  return known && fault instanceof Error ? fault.message : undefined;
}

function readCertificate(file: string): { pem: string; fingerprint256: string } | undefined {
  try {
    const pem = fs.readFileSync(file, "utf8");
    return { pem, fingerprint256: new X509Certificate(pem).fingerprint256 };
  } catch {
    // Whoever may not read it, or finds something else there, is told by the connection itself.
    return undefined;
  }
}
