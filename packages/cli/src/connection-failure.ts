/**
 * Explains why a gateway did not answer. Each explanation is verified with another request before it is given. The
 * caller also learns when an interrupted request may have been carried out.
 */
import net from "node:net";
import { setTimeout } from "node:timers/promises";
import tls from "node:tls";
import type { Problem } from "@tendon/protocol";
// Not through the package's index: it loads the schema library, which costs every command a quarter of a second.
import { errorTitles } from "@tendon/protocol/errors";
import { NoGateway, OperationError } from "./errors.ts";
import { fetchFrom, unanswered } from "./gateway-fetch.ts";
import { ownCommand } from "./own-command.ts";
import type { Target } from "./target.ts";

export interface FailedRequest {
  readonly method: string;
  /** Under /api/v1. */
  readonly path: string;
  readonly error: unknown;
  /** Whether the response had begun. */
  readonly begun: boolean;
}

const probeTimeoutMs = 2_000;
/**
 * For a moment, the port of a killed process still accepts connections and then resets them. A server that resets every
 * connection for longer than this is not a gateway that is ending.
 */
const endingMs = 2_000;
const probeAgainMs = 50;

export async function explainNoAnswer(target: Target, request: FailedRequest): Promise<OperationError> {
  const { url } = target;
  const { fault, code } = faultOf(request.error);
  if (isUntrustedCertificate(code)) {
    return new OperationError(
      `The certificate of ${url} is not trusted (${messageOf(fault)}). Set NODE_EXTRA_CA_CERTS to the file of the ` +
        "authority that signed it. On the gateway's own machine, pass its data folder with --data instead.",
    );
  }
  const secure = url.startsWith("https:");
  if (secure && /^(ERR_SSL_|EPROTO)/.test(code)) {
    return new NoGateway(
      `The server at ${url} does not use TLS. Use http:// if it is a gateway without a certificate.`,
    );
  }
  if (code === unanswered) {
    const sent = isSafe(request.method) ? "" : ` The result is unknown: ${mayHaveRun(request.path)}.`;
    return new NoGateway(`The server at ${url} accepted the request and did not answer in time.${sent}`);
  }
  if (!request.begun && !isReset(code) && !code.startsWith("HPE_")) {
    return new NoGateway(
      `No gateway answers at ${url}. Start one with \`${ownCommand()} serve\`, or pass another address with --url.`,
    );
  }
  const found = request.begun ? "gone" : await identify(target);
  switch (found) {
    case "tls":
      return new NoGateway(
        `The server at ${url} uses TLS. Use https:// if it is a gateway with a certificate.`,
      );
    case "other": {
      const reason = code.startsWith("HPE_")
        ? "does not speak HTTP, so it is not a gateway"
        : "closes the connection without an answer. It is not a gateway, or it is a proxy whose gateway is down";
      const sent = isSafe(request.method)
        ? ""
        : ` If there is a gateway behind it, ${mayHaveRun(request.path)}.`;
      return new NoGateway(`The server at ${url} ${reason}.${sent}`);
    }
    case "gone":
      return connectionLost(url, request);
  }
}

function connectionLost(url: string, { method, path }: FailedRequest): OperationError {
  const lost = `The connection to the gateway at ${url} was lost before it answered.`;
  if (isSafe(method)) return new NoGateway(lost);
  const maybe = mayHaveRun(path);
  const detail = `${lost} ${maybe.slice(0, 1).toUpperCase()}${maybe.slice(1)}.`;
  if (!isCall(path)) return new NoGateway(detail);
  const code = "device_disconnected";
  const title = errorTitles[code];
  const problem: Problem = { type: `urn:tendon:error:${code}`, title, status: 502, code, detail, sent: true };
  return new NoGateway(`${code}: ${detail}`, { ...problem, retryable: true });
}

function isSafe(method: string): boolean {
  return method === "GET";
}

function isCall(path: string): boolean {
  return /\/(call|control)$/.test(path);
}

function mayHaveRun(path: string): string {
  return isCall(path) ? "the call may have been carried out" : "the request may have been carried out";
}

/** What is at the address now: `gone` (a restarted gateway, or nothing), a TLS server, or another program. */
async function identify(target: Target): Promise<"gone" | "tls" | "other"> {
  const until = performance.now() + endingMs;
  let found = await probe(target);
  if (found === "gateway" || found === "nothing") return "gone";
  if (!target.url.startsWith("https:") && (await speaksTls(target.url))) return "tls";
  while (found === "reset" && performance.now() < until) {
    await setTimeout(probeAgainMs);
    found = await probe(target);
  }
  return found === "reset" || found === "other" ? "other" : "gone";
}

type Place = Pick<Target, "url" | "certificate">;

export async function probeServer(place: Place): Promise<"gateway" | "nothing" | "other"> {
  const found = await probe(place);
  return found === "reset" ? "other" : found;
}

/** Sends no token and waits briefly. `reset`: the server accepted the connection and closed it without an answer. */
async function probe(target: Place): Promise<"gateway" | "nothing" | "other" | "reset"> {
  try {
    const signal = AbortSignal.timeout(probeTimeoutMs);
    const answer = await fetchFrom(target)(`${target.url}/readyz`, { signal });
    const { status } = (await answer.json()) as { status?: unknown };
    return status === "ready" || status === "unready" ? "gateway" : "other";
  } catch (error) {
    const { code } = faultOf(error);
    if (isReset(code)) return "reset";
    return /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code)
      ? "nothing"
      : "other";
  }
}

function speaksTls(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    // Only the handshake counts: nothing is sent, so the certificate does not need to be trusted.
    const name = net.isIP(host) === 0 ? { servername: host } : {};
    const socket = tls.connect({ host, port: Number(port || 80), rejectUnauthorized: false, ...name });
    const end = (speaks: boolean) => {
      socket.destroy();
      resolve(speaks);
    };
    socket.setTimeout(probeTimeoutMs, () => end(false));
    socket.once("secureConnect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}

function isReset(code: string): boolean {
  return /^(ECONNRESET|ECONNABORTED|EPIPE)$/.test(code);
}

function isUntrustedCertificate(code: string): boolean {
  return /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_)/.test(code);
}

function faultOf(error: unknown): { fault: unknown; code: string } {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return { fault, code: fault instanceof Error && "code" in fault ? String(fault.code) : "" };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
