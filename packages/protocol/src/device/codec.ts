/**
 * Encodes and decodes the text frames of a device's connection. A frame is `{"type": kind, …}`; `mcp` frames have
 * JSON-RPC in `payload`. Decoding returns ok, unknown, or invalid with the reason [DEV-1]. A frame that is invalid JSON
 * because the firmware inserted an unescaped error text is recovered [RPC-6].
 */
import { type DeviceRpc, decodeDeviceRpc, repliedId } from "../jsonrpc/device-rpc.ts";
import { salvageFrame } from "../jsonrpc/salvage.ts";
import { type Decoded, invalid, isObject, ok, parseJson, unknownKind } from "../outcome.ts";
import { type Check, compileCheck } from "../schema-check.ts";
import { DeviceHello, ServerHello } from "./hello.ts";
import { Abort, Listen, Llm, Stt, Tts } from "./speech.ts";
import { Alert, Custom, Goodbye, System } from "./system.ts";

interface DeviceMcp {
  readonly type: "mcp";
  readonly rpc: DeviceRpc;
}

export type DeviceMessage = DeviceHello | Listen | Abort | Goodbye | Custom | DeviceMcp;

interface ServerMcp {
  readonly type: "mcp";
  readonly payload: { readonly [key: string]: unknown };
}

export type ServerMessage = ServerHello | Tts | Stt | Llm | System | Alert | Custom | Goodbye | ServerMcp;

type PlainDeviceMessage = Exclude<DeviceMessage, DeviceMcp>;
type PlainServerMessage = Exclude<ServerMessage, ServerMcp>;

const fromDevice: ReadonlyMap<string, Check<PlainDeviceMessage>> = new Map<string, Check<PlainDeviceMessage>>(
  [
    ["hello", compileCheck(DeviceHello)],
    ["listen", compileCheck(Listen)],
    ["abort", compileCheck(Abort)],
    ["goodbye", compileCheck(Goodbye)],
    ["custom", compileCheck(Custom)],
  ],
);

const fromServer: ReadonlyMap<string, Check<PlainServerMessage>> = new Map<string, Check<PlainServerMessage>>(
  [
    ["hello", compileCheck(ServerHello)],
    ["tts", compileCheck(Tts)],
    ["stt", compileCheck(Stt)],
    ["llm", compileCheck(Llm)],
    ["system", compileCheck(System)],
    ["alert", compileCheck(Alert)],
    ["custom", compileCheck(Custom)],
    ["goodbye", compileCheck(Goodbye)],
  ],
);

const notJson = "not JSON, or nested too deeply";

export function decodeDeviceFrame(text: string): Decoded<DeviceMessage> {
  const frame = parseJson(text);
  // First, because a hostile error text can be valid JSON and still change the frame's meaning [RPC-7].
  const salvaged = salvageFrame(text, frame);
  if (salvaged !== undefined) return ok({ type: "mcp", rpc: salvaged });
  if (frame === undefined) return invalid(notJson);
  if (!isObject(frame) || typeof frame["type"] !== "string")
    return invalid("no text in `type`", repliedId(frame));
  if (frame["type"] === "mcp") {
    const rpc = decodeDeviceRpc(frame["payload"]);
    if (rpc.outcome === "ok") return ok({ type: "mcp", rpc: rpc.message });
    return rpc.outcome === "invalid" ? invalid(rpc.reason, repliedId(frame)) : rpc;
  }
  return decodePlain(fromDevice, frame["type"], frame);
}

export function decodeServerFrame(text: string): Decoded<ServerMessage> {
  const frame = parseJson(text);
  if (frame === undefined) return invalid(notJson);
  if (!isObject(frame) || typeof frame["type"] !== "string") return invalid("no text in `type`");
  if (frame["type"] === "mcp") {
    const payload = frame["payload"];
    return isObject(payload) ? ok({ type: "mcp", payload }) : invalid("/payload is not an object");
  }
  return decodePlain(fromServer, frame["type"], frame);
}

function decodePlain<Message>(
  checks: ReadonlyMap<string, Check<Message>>,
  kind: string,
  frame: unknown,
): Decoded<Message> {
  const check = checks.get(kind);
  if (check === undefined) return unknownKind(kind);
  return check.fits(frame) ? ok(frame) : invalid(`${kind}: ${check.whyNot(frame)}`);
}

/** [DEV-2] The envelope of every JSON-RPC message, in both directions. */
export function encodeMcp(
  sessionId: string,
  payload: { readonly [key: string]: unknown },
  beside?: { readonly [key: string]: unknown },
): string {
  const envelope = { session_id: sessionId, type: "mcp", payload };
  return JSON.stringify(beside === undefined ? envelope : { ...envelope, ...beside });
}

export function encodeServerMessage(message: PlainServerMessage): string {
  return JSON.stringify(message);
}
