import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type CallOrigin, isObject, type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import { progressTo } from "./progress.ts";
import { type Question, questionFor } from "./questions.ts";
import type { Rounds } from "./rounds.ts";
import type { McpRequest } from "./tool-request.ts";

type Relay = NonNullable<CallOptions["relay"]>;

const levels = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

/** Relays questions, progress and log messages between this client and an MCP program. */
export function relayTo(request: McpRequest, rounds?: Rounds): Relay {
  const { context } = request;
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  // In a session the SDK filters log messages by the session's level.
  const level = envelope === undefined ? "debug" : envelope[LOG_LEVEL_META_KEY];
  const report = progressTo(context);
  const inputResponses = rounds?.answers ?? context.mcpReq.inputResponses;
  const requestState = rounds?.before.deviceState;
  return {
    caller: request.view.principal.id,
    meta: {
      [CLIENT_CAPABILITIES_META_KEY]: clientOf(request),
      ...(level === undefined ? {} : { [LOG_LEVEL_META_KEY]: level }),
    },
    ...(inputResponses === undefined || Object.keys(inputResponses).length === 0 ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ask: (question, signal) => askInSession(request, question, signal),
    progress: (progress) => report?.(progress),
    log: (entry) => logTo(context, entry),
  };
}

/** The client's capabilities. A session declares them once, a client of the newer era with each request. */
export function clientOf({ server, context }: McpRequest): JsonObject {
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return isObject(declared) ? declared : {};
}

const longestClientName = 128;

/** The client program, as it names itself. */
export async function originOf({ view, server, context }: McpRequest): Promise<CallOrigin> {
  const asker = await view.voice?.askerOf(context.mcpReq.id);
  const origin = {
    via: view.voice === undefined ? ("mcp" as const) : ("endpoint" as const),
    ...(asker === undefined ? {} : { asker }),
  };
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  const info: unknown = envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  if (!isObject(info) || typeof info["name"] !== "string") return origin;
  const { title, name, version } = info;
  const client = `${typeof title === "string" ? title : name} ${typeof version === "string" ? version : ""}`;
  return { ...origin, client: client.slice(0, longestClientName).trim() };
}

/**
 * [PRC-10] Asks on the stream of the request, as in the older era. The SDK's `elicitInput` is not used: it would check the
 * answer against the program's schema, and so run the program's regular expressions.
 */
async function askInSession(request: McpRequest, asked: Question, signal: AbortSignal): Promise<JsonObject> {
  const { envelope, send } = request.context.mcpReq;
  const question = questionFor(clientOf(request), asked);
  if (envelope !== undefined) {
    const detail = "a client of this era takes questions in tools/call, prompts/get and resources/read only";
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, detail);
  }
  const options = { signal, timeout: limits.callTimeoutMs.max };
  // Safe: `questionFor` returns only valid questions with these methods.
  return await send(
    question as { method: "elicitation/create" | "sampling/createMessage" | "roots/list" },
    options,
  );
}

function logTo({ mcpReq }: ServerContext, { level, data, logger }: JsonObject): void {
  if (typeof level !== "string" || !levels.has(level)) return;
  // Safe: it is in the set of levels.
  const sent = mcpReq.log(level as LoggingLevel, data, typeof logger === "string" ? logger : undefined);
  void sent.catch(() => undefined);
}
