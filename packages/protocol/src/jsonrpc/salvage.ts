/**
 * [RPC-6] The firmware pastes error texts into its frames without escaping them. A quote in a tool's message makes
 * the whole envelope invalid JSON; without salvage its caller would wait for the full deadline.
 *
 * [RPC-7] The same hole lets a caller who can put text into an error (an address that cannot be opened, say) write
 * JSON of its own into the frame: a second id, a made-up result. So an error frame is recognised by its fixed
 * beginning, up to which nothing foreign can stand, and everything after `"message":"` is text, never structure.
 * Newer firmware puts a numeric `code` before the message; a number cannot carry foreign text either.
 */
import { isObject, parseJson } from "../outcome.ts";
import { type DeviceRpc, decodeDeviceRpc, type RpcError } from "./device-rpc.ts";

const errorFrame =
  /^\s*\{\s*"session_id"\s*:\s*"[^"\\]*"\s*,\s*"type"\s*:\s*"mcp"\s*,\s*"payload"\s*:\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d{1,10})\s*,\s*"error"\s*:\s*\{\s*(?:"code"\s*:\s*(-?\d{1,10})\s*,\s*)?"message"\s*:\s*"/;
const mcpPayload = /"type"\s*:\s*"mcp"\s*,\s*"payload"\s*:\s*/;
const closing = /"\s*\}\s*\}\s*\}\s*$/;

const MESSAGE_LIMIT = 4_096;

/**
 * Recovers the meaning of a frame that cannot be decoded as it is; `undefined` for every ordinary frame. `parsed` is the
 * frame as JSON, or `undefined` if it is not JSON.
 */
export function salvageFrame(text: string, parsed: unknown): DeviceRpc | undefined {
  const start = errorFrame.exec(text);
  if (start !== null) {
    const id = Number(start[1]);
    if (isPlainError(parsed, id)) return undefined;
    const error = readError(text, start[0].length, id);
    return start[2] === undefined ? error : { ...error, cause: { code: Number(start[2]) } };
  }
  return parsed === undefined ? salvagePayload(text) : undefined;
}

function readError(text: string, from: number, id: number): RpcError {
  const end = closing.exec(text)?.index ?? text.length;
  return {
    kind: "error",
    id,
    message: text.slice(from, Math.max(from, end)).slice(0, MESSAGE_LIMIT),
    salvaged: true,
  };
}

/** Whether the frame is exactly a correctly escaped error, so that the ordinary decoder can handle it. */
function isPlainError(frame: unknown, id: number): boolean {
  if (!isObject(frame) || Object.keys(frame).length !== 3 || frame["type"] !== "mcp") return false;
  const payload = frame["payload"];
  if (!isObject(payload) || payload["jsonrpc"] !== "2.0" || payload["id"] !== id) return false;
  if (Object.keys(payload).some((key) => key !== "jsonrpc" && key !== "id" && key !== "error")) return false;
  const error = payload["error"];
  return isObject(error) && typeof error["message"] === "string";
}

/** Broken outside the payload (an unescaped session id): the payload itself may still be whole. */
function salvagePayload(text: string): DeviceRpc | undefined {
  const at = mcpPayload.exec(text);
  if (at === null) return undefined;
  const payload = parseJson(text.slice(at.index + at[0].length).replace(/\}\s*$/, ""));
  const decoded = decodeDeviceRpc(payload);
  return decoded.outcome === "ok" ? decoded.message : undefined;
}
