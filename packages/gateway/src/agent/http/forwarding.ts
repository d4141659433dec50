/** Forwards requests about sessions, photos and jobs to the node that made them: each id names its node. */
import { limits, visionLimits } from "@tendon/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Cluster, ForwardedAnswer, ForwardedRequest } from "../../cluster/cluster.ts";
import { TendonError } from "../../errors.ts";
import type { Services } from "../services.ts";
import type { Http } from "./server.ts";

/** What one node has carried to another stays there. */
const carried = "x-tendon-node";
const mostBytes = Math.max(limits.mcpBodyBytes.max, visionLimits.bodyBytes.max);
/** A reader that is this far behind a stream is let go. */
const mostUnread = 4 * 1024 * 1024;
const ownNode = /^([A-Za-z0-9-]{1,32}_[0-9a-f]{8})\./;
const jobs = "jobs";
const jobMs = 5_000;
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer"]);

export function forwardMisrouted(http: Http, cluster: Cluster, { fanOut }: Pick<Services, "fanOut">): void {
  askForJobs(cluster, fanOut);
  cluster.forwarding.serve((request) => answerHere(http, request));
  http.addHook("onRequest", async (request, reply) => {
    const home = homeOf(request);
    if (home === undefined || home === cluster.instance || request.headers[carried] !== undefined) return;
    // A node that is gone took its sessions with it: here they are as unknown as any other.
    if (!cluster.members.isAlive(home)) return;
    await carry(cluster, home, request, reply);
  });
}

/** Whose session, picture or job it is. */
function homeOf(request: FastifyRequest): string | undefined {
  const [path = ""] = request.url.split("?");
  const id = path.startsWith("/mcp")
    ? request.headers["mcp-session-id"]
    : path.startsWith("/vision/explain")
      ? request.headers.authorization?.replace(/^Bearer /i, "")
      : /^\/api\/v1\/jobs\/(.+)$/.exec(path)?.[1];
  return typeof id === "string" ? ownNode.exec(id)?.[1] : undefined;
}

type FanOut = Services["fanOut"];

/** A question about a job that stands in a body, which nobody has read when requests are carried. */
function askForJobs(cluster: Cluster, fanOut: FanOut): void {
  cluster.rpc.serveNode(jobs, async (asked) => {
    const { principal, job } = asked as { principal: string; job: string };
    return { progress: fanOut.localProgress(principal, job) };
  });
  fanOut.readRemoteProgressWith(async (principal, job) => {
    const home = ownNode.exec(job)?.[1];
    if (home === undefined || home === cluster.instance || !cluster.members.isAlive(home)) return undefined;
    const answer = await cluster.rpc.askNode(home, jobs, { principal, job }, { timeoutMs: jobMs });
    const { progress } = answer as { progress?: Awaited<ReturnType<FanOut["progress"]>> };
    return progress;
  });
}

async function carry(cluster: Cluster, home: string, request: FastifyRequest, reply: FastifyReply) {
  const body = await readBody(request);
  const headers: Record<string, string | readonly string[]> = { [carried]: cluster.instance };
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && !hopByHop.has(name)) headers[name] = value;
  reply.hijack();
  const { raw } = reply;
  try {
    await cluster.forwarding.forward(
      home,
      { method: request.method, url: request.url, headers, from: request.ip, body },
      {
        head(status, sent) {
          for (const [name, value] of Object.entries(sent))
            if (!hopByHop.has(name)) raw.setHeader(name, value);
          raw.writeHead(status);
          raw.flushHeaders();
        },
        chunk(bytes) {
          if (raw.writableLength > mostUnread) raw.destroy();
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
    const { code, message } = error instanceof TendonError ? error : { code: "internal", message: "" };
    raw.writeHead(503, { "content-type": "application/problem+json" });
    raw.end(JSON.stringify({ status: 503, code, detail: message }));
  }
}

async function readBody(request: FastifyRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.raw) {
    // Safe: nobody has set an encoding before this hook.
    const piece = chunk as Buffer;
    bytes += piece.length;
    if (bytes > mostBytes) throw new TendonError("payload_too_large", `${mostBytes} bytes at most`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

async function answerHere(http: Http, request: ForwardedRequest): Promise<ForwardedAnswer> {
  const response = await http.inject({
    // Safe: it was the method of a request that this server's twin has read.
    method: request.method as "POST",
    url: request.url,
    headers: request.headers as Record<string, string>,
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
