/** JSON-RPC messages that the bridge forwards. It reads only the fields it needs for routing. */
export type Message = { readonly [key: string]: unknown };
export type RequestId = string | number;

const versionKey = "io.modelcontextprotocol/protocolVersion";
export const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

export function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function parseMessage(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMessage(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function methodOf(message: Message): string | undefined {
  return typeof message["method"] === "string" ? message["method"] : undefined;
}

/** The id of a request; `undefined` for notifications and replies. */
export function requestIdOf(message: Message): RequestId | undefined {
  const { id } = message;
  return methodOf(message) !== undefined && isId(id) ? id : undefined;
}

/** The id of the request that a message replies to. */
export function answeredBy(message: Message): RequestId | undefined {
  return methodOf(message) === undefined && isId(message["id"]) ? message["id"] : undefined;
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}

export function paramsOf(message: Message): Message {
  return isMessage(message["params"]) ? message["params"] : {};
}

/** The protocol version that a message names. Only messages since 2026-07-28 have one. */
export function revisionOf(message: Message): string | undefined {
  const meta = paramsOf(message)["_meta"];
  const revision = isMessage(meta) ? meta[versionKey] : undefined;
  return typeof revision === "string" ? revision : undefined;
}

/** The reply to a request that the gateway could not answer. For a tool call it is a result, so that the model reads it. */
export function failure(request: Message, code: string, detail: string): Message {
  const id = requestIdOf(request);
  if (methodOf(request) !== "tools/call") {
    return { jsonrpc: "2.0", id: id ?? null, error: { code: -32603, message: `${code}: ${detail}` } };
  }
  const result = { content: [{ type: "text", text: `${code}: ${detail}` }], isError: true };
  const complete = revisionOf(request) === undefined ? {} : { resultType: "complete" };
  return { jsonrpc: "2.0", id, result: { ...result, ...complete } };
}
