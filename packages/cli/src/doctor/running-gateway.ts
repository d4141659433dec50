import { probeServer } from "../connection-failure.ts";
import { OperationError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { fetchFrom } from "../gateway-fetch.ts";
import type { McpToken } from "../mcp-token.ts";
import { ownCommand } from "../own-command.ts";
import type { Target } from "../target.ts";
import { type Finding, failed, fine, warning } from "./finding.ts";

export interface Running {
  readonly findings: readonly Finding[];
  /** How far its clock is ahead of this machine's. */
  readonly clockAheadMs: number;
}

/** The gateway that commands would use; `undefined` if none answers. */
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

/** A failed check when the user named an address where no gateway answers. */
export async function checkNamed(target: Target | undefined): Promise<Finding[]> {
  if (target === undefined || target.own) return [];
  const unreachable = (await probeServer(target)) === "nothing";
  return [
    failed("gateway", {
      message: unreachable
        ? `nothing answers at ${target.url}`
        : `the server at ${target.url} is not a Tendon gateway`,
      why: "commands would use this address",
      todo: "check --url or TENDON_URL: host, port, and http or https",
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
    why: "the gateway rejects requests that need this part",
    todo: "see the gateway's log for details",
  });
}

/** Checks whether the gateway still accepts the token of desktop clients, if there is one. */
export async function checkMcpToken(target: Target, kept: McpToken | undefined): Promise<Finding[]> {
  if (kept === undefined) {
    const created =
      "`tendon mcp` creates it when a client first starts it; `tendon doctor --create-token` creates it now";
    return target.own ? [fine("client token", `none yet: ${created}`)] : [];
  }
  if (kept.file === undefined) return [];
  const { token, file } = kept;
  try {
    await new GatewayClient({ ...target, token, tokenFromEnvironment: false }).get("/devices?limit=1");
    return [fine("client token", `${file} is valid`)];
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return [
      warning("client token", {
        message: `the gateway rejects ${file} (${error.message})`,
        why: "desktop clients use this token",
        todo: `if it was not revoked on purpose, remove ${file}; the next \`${ownCommand()} mcp\` creates a new one`,
      }),
    ];
  }
}
