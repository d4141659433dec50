/**
 * JSON-RPC as devices speak it. Replies are matched by an int32 id; errors have no code [RPC-4]; a message without an
 * id is a notification whatever its method is called [RPC-8].
 */
import { type Decoded, invalid, isObject, type JsonObject, ok, parseJson } from "../outcome.ts";

interface RpcResult {
  readonly kind: "result";
  readonly id: number;
  readonly result: unknown;
}

export interface RpcError {
  readonly kind: "error";
  readonly id: number;
  readonly message: string;
  /** The text was recovered from broken JSON. */
  readonly salvaged: boolean;
  /** The peer's own error object, if it has more fields. */
  readonly cause?: unknown;
}

interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
}

interface RpcRequest {
  readonly kind: "request";
  readonly id: number | string;
  readonly method: string;
}

export type DeviceRpc = RpcResult | RpcError | RpcNotification | RpcRequest;

export function decodeDeviceRpc(payload: unknown): Decoded<DeviceRpc> {
  if (!isObject(payload)) return invalid("/payload is not an object");
  if (payload["jsonrpc"] !== "2.0") return invalid('/payload/jsonrpc is not "2.0"');
  const { id, method } = payload;
  if (typeof method === "string") {
    if (id === undefined || id === null)
      return ok({ kind: "notification", method, params: payload["params"] });
    if (typeof id !== "number" && typeof id !== "string")
      return invalid("/payload/id is neither number nor text");
    return ok({ kind: "request", id, method });
  }
  if (method !== undefined) return invalid("/payload/method is not text");
  return decodeReply(payload, id);
}

function decodeReply(payload: JsonObject, id: unknown): Decoded<DeviceRpc> {
  if (!isRequestId(id)) return invalid("/payload/id is not one of the integers we send");
  const { error } = payload;
  // Some stacks send `error: null` beside a result.
  if (error !== undefined && error !== null) {
    const said = isObject(error) ? error["message"] : error;
    const message =
      typeof said === "string" && (isObject(error) || said === "") ? said : JSON.stringify(error);
    const cause = isObject(error) && startsWithCode(error) ? { cause: error } : {};
    return ok({ kind: "error", id, message, salvaged: false, ...cause });
  }
  if (Object.hasOwn(payload, "result")) return ok({ kind: "result", id, result: payload["result"] });
  return invalid("/payload has neither method, result nor error");
}

/** [RPC-7] After the message, a code may be part of a text that the firmware inserted unescaped. */
function startsWithCode(error: JsonObject): boolean {
  return Object.keys(error)[0] === "code";
}

/**
 * The id of the request that a message which cannot be decoded was meant to answer: a reply without `jsonrpc`, with its
 * id as text, without the envelope, or with the whole payload as text, or a line without its result. `undefined` if
 * that is not clear.
 */
export function repliedId(frame: unknown): number | undefined {
  if (!isObject(frame)) return undefined;
  const wrapped = typeof frame["payload"] === "string" ? parseJson(frame["payload"]) : frame["payload"];
  const reply = isObject(wrapped) ? wrapped : frame;
  if (reply["method"] !== undefined) return undefined;
  const { id, type } = reply;
  const isReply = Object.hasOwn(reply, "result") || Object.hasOwn(reply, "error");
  if (!isReply && type !== "result" && type !== "error") return undefined;
  const number = typeof id === "string" && /^\d{1,10}$/.test(id) ? Number(id) : id;
  return isRequestId(number) ? number : undefined;
}

/** [RPC-2] The firmware reads ids as C ints: whole numbers from 1 to 2147483647 come back as they were sent. */
export const largestRequestId = 2_147_483_647;

function isRequestId(id: unknown): id is number {
  return typeof id === "number" && Number.isInteger(id) && id >= -2_147_483_648 && id <= largestRequestId;
}

export function nextRequestId(id: number): number {
  return id >= largestRequestId ? 1 : id + 1;
}

export interface Request {
  readonly [key: string]: unknown;
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
}

/** [RPC-3] `params` is omitted or an object: the firmware silently drops `null` and arrays. */
export function encodeRequest(id: number, method: string, params?: JsonObject): Request {
  return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params };
}
