import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { isObject, type JsonObject, limits } from "@tendon/protocol";
import type { CallOptions } from "../../calls/calls.ts";
import type { McpRequest } from "./asking.ts";
import { progressTo } from "./progress.ts";
import { type Question, questionFor } from "./questions.ts";
import type { Rounds } from "./rounds.ts";

type Relay = NonNullable<CallOptions["relay"]>;

const levels = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

/** What passes between this caller and a device that speaks MCP too. */
export function relayTo(request: McpRequest, rounds?: Rounds): Relay {
  const { context } = request;
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  // In a session the SDK sorts log lines by the level that was set there.
  const level = envelope === undefined ? "debug" : envelope[LOG_LEVEL_META_KEY];
  const tell = progressTo(context);
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
    progress: (progress) => tell?.(progress),
    log: (entry) => logTo(context, entry),
  };
}

/** What the client is able to do. Sessions say it once, the newer era with each request. */
export function clientOf({ server, context }: McpRequest): JsonObject {
  const envelope: JsonObject | undefined = context.mcpReq.envelope;
  const said = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return isObject(said) ? said : {};
}

/**
 * [PRC-10] On the stream of the request itself, as the older era does it. The SDK's own `elicitInput` would check the
 * answer against the form's schema, which is the program's, and with it any regular expression in there.
 */
async function askInSession(request: McpRequest, asked: Question, signal: AbortSignal): Promise<JsonObject> {
  const { envelope, send } = request.context.mcpReq;
  const question = questionFor(clientOf(request), asked);
  if (envelope !== undefined) {
    const detail = "a client of this era is asked in tools/call, prompts/get and resources/read only";
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, detail);
  }
  const options = { signal, timeout: limits.callTimeoutMs.max };
  // Safe: `questionFor` lets only these three through, each valid.
  return await send(
    question as { method: "elicitation/create" | "sampling/createMessage" | "roots/list" },
    options,
  );
}

function logTo({ mcpReq }: ServerContext, { level, data, logger }: JsonObject): void {
  if (typeof level !== "string" || !levels.has(level)) return;
  // Safe: it is one of the levels there are.
  const said = mcpReq.log(level as LoggingLevel, data, typeof logger === "string" ? logger : undefined);
  void said.catch(() => undefined);
}
