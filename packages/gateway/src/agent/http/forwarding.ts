/** Forwards requests about sessions, pictures and jobs to the node that made them: each id names its node. */
import { randomUUID } from "node:crypto";
import { limits, visionLimits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Cluster, ForwardedAnswer, ForwardedRequest } from "../../cluster/cluster.ts";
import { TendonError } from "../../errors.ts";
import type { Services } from "../services.ts";
import type { Http } from "./server.ts";

/** A forwarded request has this header and is not forwarded again. Its value, a secret of this process, proves it. */
const forwardedHeader = "x-tendon-node";
const proof = randomUUID();
const maxBodyBytes = Math.max(limits.mcpBodyBytes.max, visionLimits.bodyBytes.max);
/** A client with this many unread bytes is disconnected. */
const maxUnreadBytes = 4 * 1024 * 1024;
const nodeInId = /^([A-Za-z0-9-]{1,32}_[0-9a-f]{8})\./;
const jobs = "jobs";
const jobTimeoutMs = 5_000;
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer"]);

export function forwardMisrouted(http: Http, cluster: Cluster, { fanOut }: Pick<Services, "fanOut">): void {
  shareJobProgress(cluster, fanOut);
  cluster.forwarding.serve((request) => answerHere(http, request));
  http.addHook("onRequest", async (request, reply) => {
    const owner = ownerOf(request);
    if (owner === undefined || owner === cluster.instance || isForwarded(request)) return;
    // The sessions of a dead node are gone; the route answers that they are unknown.
    if (!cluster.members.isAlive(owner)) return;
    await forward(http, cluster, owner, request, reply);
  });
}

/** Whether another node has received this request, and has checked its Host and Origin against its own names. */
export function isForwarded({ headers }: FastifyRequest): boolean {
  return headers[forwardedHeader] === proof;
}

/** The node that has the request's session, picture or job. */
function ownerOf(request: FastifyRequest): string | undefined {
  const [path = ""] = request.url.split("?");
  const id = path.startsWith("/mcp")
    ? request.headers["mcp-session-id"]
    : path.startsWith("/vision/explain")
      ? request.headers.authorization?.replace(/^Bearer /i, "")
      : /^\/(?:vision\/snapshot|api\/v1\/jobs)\/(.+)$/.exec(path)?.[1];
  return typeof id === "string" ? nodeInId.exec(id)?.[1] : undefined;
}

type FanOut = Services["fanOut"];

/** Progress of jobs on other nodes. MCP requests name the job in the body, which the hook above does not read. */
function shareJobProgress(cluster: Cluster, fanOut: FanOut): void {
  cluster.rpc.serveNode(jobs, async (asked) => {
    const { principal, job } = asked as { principal: string; job: string };
    return { progress: await fanOut.localProgress(principal, job) };
  });
  fanOut.readRemoteProgressWith(async (principal, job) => {
    const owner = nodeInId.exec(job)?.[1];
    if (owner === undefined || owner === cluster.instance || !cluster.members.isAlive(owner))
      return undefined;
    const answer = await cluster.rpc.askNode(owner, jobs, { principal, job }, { timeoutMs: jobTimeoutMs });
    const { progress } = answer as { progress?: Awaited<ReturnType<FanOut["progress"]>> };
    return progress;
  });
}

async function forward(
  http: Http,
  cluster: Cluster,
  owner: string,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const body = await readBody(request);
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && !hopByHop.has(name)) headers[name] = value;
  const forwarded = { method: request.method, url: request.url, headers, from: request.ip, body };
  reply.hijack();
  const { raw } = reply;
  try {
    await cluster.forwarding.forward(
      owner,
      forwarded,
      {
        head(status, sent) {
          for (const [name, value] of Object.entries(sent))
            if (!hopByHop.has(name)) raw.setHeader(name, value);
          raw.writeHead(status);
          raw.flushHeaders();
        },
        chunk(bytes) {
          if (raw.writableLength > maxUnreadBytes) raw.destroy();
          else raw.write(bytes);
        },
        end(broken) {
          if (broken) raw.destroy();
          else raw.end();
        },
      },
      (stop) => {
        raw.once("close", () => {
          if (!raw.writableFinished) stop();
        });
      },
    );
  } catch (error) {
    if (isGone(error)) {
      await answerFrom(raw, await answerHere(http, forwarded));
      return;
    }
    const { code, message } = error instanceof TendonError ? error : { code: "internal", message: "" };
    raw.writeHead(503, { "content-type": "application/problem+json" });
    raw.end(JSON.stringify({ status: 503, code, detail: message }));
  }
}

/** The node has ended a moment ago: it no longer listens, or it was lost before it could answer. */
function isGone(error: unknown): boolean {
  return error instanceof TendonError && error.code === "device_offline";
}

async function answerFrom(raw: FastifyReply["raw"], answer: ForwardedAnswer): Promise<void> {
  for (const [name, value] of Object.entries(answer.headers))
    if (!hopByHop.has(name)) raw.setHeader(name, value);
  raw.writeHead(answer.status);
  for await (const chunk of answer.chunks) raw.write(chunk);
  raw.end();
}

async function readBody(request: FastifyRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.raw) {
    // Safe: no earlier hook sets an encoding.
    const piece = chunk as Buffer;
    bytes += piece.length;
    if (bytes > maxBodyBytes)
      throw new TendonError("payload_too_large", `a body may have ${maxBodyBytes} bytes at most`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

async function answerHere(http: Http, request: ForwardedRequest): Promise<ForwardedAnswer> {
  const response = await http.inject({
    // Safe: the HTTP server of another node has parsed it.
    method: request.method as "POST",
    url: request.url,
    headers: { ...(request.headers as Record<string, string>), [forwardedHeader]: proof },
    remoteAddress: request.from,
    payload: request.body,
    payloadAsStream: true,
  });
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(response.headers))
    if (value !== undefined) headers[name] = typeof value === "number" ? String(value) : value;
  const chunks = response.stream();
  return { status: response.statusCode, headers, chunks, stop: () => chunks.destroy() };
}
