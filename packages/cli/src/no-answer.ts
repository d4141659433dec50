/**
 * Why a gateway did not answer, in words that are true: each guess is looked at before it is said. What was sent and
 * broke off may have been carried out, and a caller has to know that.
 */
import net from "node:net";
import { setTimeout } from "node:timers/promises";
import tls from "node:tls";
import type { Problem } from "@tendon/protocol";
// Not by the index: it loads the schema library, which costs every command a quarter of a second.
import { errorTitles } from "@tendon/protocol/errors";
import { NoGateway, OperationError } from "./errors.ts";
import { fetchFrom, unanswered } from "./gateway-fetch.ts";
import type { Target } from "./target.ts";

export interface Unanswered {
  readonly method: string;
  /** Under /api/v1. */
  readonly path: string;
  readonly error: unknown;
  /** Whether an answer had begun. */
  readonly begun: boolean;
}

const lookMs = 2_000;
/**
 * A program that is killed closes what it holds piece by piece: for a moment its port still takes connections, only to
 * cut them. One that cuts every connection for this long is no gateway about to be gone.
 */
const dyingMs = 2_000;
const lookAgainMs = 50;

export async function whyNoAnswer(target: Target, asked: Unanswered): Promise<OperationError> {
  const { url } = target;
  const { fault, code } = faultOf(asked.error);
  if (isDistrust(code)) {
    return new OperationError(
      `The certificate of ${url} is not trusted (${messageOf(fault)}). Name the authority that signed it with ` +
        "NODE_EXTRA_CA_CERTS=FILE, or on the gateway's own machine its data folder with --data.",
    );
  }
  const secure = url.startsWith("https:");
  if (secure && /^(ERR_SSL_|EPROTO)/.test(code)) {
    return new NoGateway(
      `What listens at ${url} does not speak TLS. Say http:// if it is a gateway without a certificate.`,
    );
  }
  if (code === unanswered) {
    const sent = isSafe(asked.method) ? "" : ` It is not known what came of it: ${mayHaveRun(asked.path)}.`;
    return new NoGateway(`What listens at ${url} took the request and never answered.${sent}`);
  }
  if (!asked.begun && !isCut(code) && !code.startsWith("HPE_")) {
    return new NoGateway(
      `No gateway answers at ${url}. Start one with \`tendon serve\`, or name another with --url.`,
    );
  }
  const found = asked.begun ? "gone" : await lookAt(target);
  switch (found) {
    case "tls":
      return new NoGateway(
        `What listens at ${url} speaks TLS. Say https:// if it is a gateway with a certificate.`,
      );
    case "stranger": {
      const doubt = code.startsWith("HPE_")
        ? "does not speak HTTP: it is no gateway"
        : "closes the connection without an answer: it is no gateway, or stands before one that is away";
      const sent = isSafe(asked.method) ? "" : ` If there is one, ${mayHaveRun(asked.path)}.`;
      return new NoGateway(`What listens at ${url} ${doubt}.${sent}`);
    }
    case "gone":
      return gone(url, asked);
  }
}

function gone(url: string, { method, path }: Unanswered): OperationError {
  const away = `The gateway at ${url} went away before it answered.`;
  if (isSafe(method)) return new NoGateway(away);
  const maybe = mayHaveRun(path);
  const detail = `${away} ${maybe.slice(0, 1).toUpperCase()}${maybe.slice(1)}.`;
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
  return isCall(path) ? "the call may have been carried out" : "what was asked for may have been done";
}

/** What is there now: a gateway that came back or nobody, something that speaks TLS, or something else. */
async function lookAt(target: Target): Promise<"gone" | "tls" | "stranger"> {
  const until = performance.now() + dyingMs;
  let found = await look(target);
  if (found === "gateway" || found === "nobody") return "gone";
  if (!target.url.startsWith("https:") && (await speaksTls(target.url))) return "tls";
  while (found === "cut" && performance.now() < until) {
    await setTimeout(lookAgainMs);
    found = await look(target);
  }
  return found === "cut" || found === "stranger" ? "stranger" : "gone";
}

type Place = Pick<Target, "url" | "certificate">;

export async function whatIsAt(place: Place): Promise<"gateway" | "nobody" | "stranger"> {
  const found = await look(place);
  return found === "cut" ? "stranger" : found;
}

/** Asked without a token, and not for long. `cut`: the connection was taken and closed without an answer. */
async function look(target: Place): Promise<"gateway" | "nobody" | "stranger" | "cut"> {
  try {
    const signal = AbortSignal.timeout(lookMs);
    const answer = await fetchFrom(target)(`${target.url}/readyz`, { signal });
    const { status } = (await answer.json()) as { status?: unknown };
    return status === "ready" || status === "unready" ? "gateway" : "stranger";
  } catch (error) {
    const { code } = faultOf(error);
    if (isCut(code)) return "cut";
    return /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/.test(code)
      ? "nobody"
      : "stranger";
  }
}

function speaksTls(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    // Nothing is said over it; whose certificate it is does not matter here.
    const name = net.isIP(host) === 0 ? { servername: host } : {};
    const socket = tls.connect({ host, port: Number(port || 80), rejectUnauthorized: false, ...name });
    const end = (speaks: boolean) => {
      socket.destroy();
      resolve(speaks);
    };
    socket.setTimeout(lookMs, () => end(false));
    socket.once("secureConnect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}

function isCut(code: string): boolean {
  return /^(ECONNRESET|ECONNABORTED|EPIPE)$/.test(code);
}

function isDistrust(code: string): boolean {
  return /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_)/.test(code);
}

function faultOf(error: unknown): { fault: unknown; code: string } {
  const fault = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return { fault, code: fault instanceof Error && "code" in fault ? String(fault.code) : "" };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
