import { OperationError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { fetchFrom } from "../gateway-fetch.ts";
import type { McpToken } from "../mcp-token.ts";
import { whatIsAt } from "../no-answer.ts";
import type { Target } from "../target.ts";
import { type Finding, failed, fine, warning } from "./finding.ts";

export interface Running {
  readonly findings: readonly Finding[];
  /** How far its clock is ahead of ours. */
  readonly clockAheadMs: number;
}

/** The gateway commands would talk to, if there is one. */
export async function findGateway(target: Target): Promise<Running | undefined> {
  try {
    const asked = Date.now();
    const response = await fetchFrom(target)(`${target.url}/readyz`, { signal: AbortSignal.timeout(3_000) });
    const body = (await response.json()) as { status?: unknown; parts?: Record<string, string> };
    if (body.status !== "ready" && body.status !== "unready") return undefined;
    const clockAheadMs = Date.parse(response.headers.get("date") ?? "") - (asked + Date.now()) / 2;
    return { findings: [readiness(target, body.parts ?? {})], clockAheadMs };
  } catch {
    return undefined;
  }
}

/** Somebody named an address, and no gateway answered there. */
export async function checkNamed(target: Target | undefined): Promise<Finding[]> {
  if (target === undefined || target.own) return [];
  const nobody = (await whatIsAt(target)) === "nobody";
  return [
    failed("gateway", {
      message: nobody ? `nothing answers at ${target.url}` : `what listens at ${target.url} is no gateway`,
      why: "commands were told to talk to it",
      todo: "look at --url or TENDON_URL: host, port, and http or https",
    }),
  ];
}

function readiness(target: Target, parts: Record<string, string>): Finding {
  const [first] = Object.entries(parts);
  if (first === undefined) return fine("gateway", `running at ${target.url}, ready`);
  return failed("gateway", {
    message: `running at ${target.url}, not ready: ${Object.entries(parts)
      .map(([part, why]) => `${part}: ${why}`)
      .join("; ")}`,
    why: "calls go on as far as they can; what needs that part is refused",
    todo: "the gateway's log says more",
  });
}

/** The token that clients get, as far as there is one: whether the gateway still knows it. */
export async function checkMcpToken(target: Target, kept: McpToken | undefined): Promise<Finding[]> {
  if (kept?.file === undefined) return [];
  const { token, file } = kept;
  try {
    await new GatewayClient({ ...target, token }).get("/devices?limit=1");
    return [fine("client token", `${file} counts`)];
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return [
      warning("client token", {
        message: `${file} no longer counts (${error.message})`,
        why: "desktop clients come in with it",
        todo: `if it was not revoked on purpose, remove ${file}: the next \`tendon mcp\` makes another`,
      }),
    ];
  }
}
