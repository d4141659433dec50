/**
 * Encodes and decodes lines of the JSON-lines protocol. Decoding takes a line without its newline and returns ok, unknown
 * or invalid; encoding returns a line with its newline.
 */
import { repliedId } from "../jsonrpc/device-rpc.ts";
import { type Decoded, invalid, isObject, type JsonObject, ok, parseJson, unknownKind } from "../outcome.ts";
import { type Check, compileCheck } from "../schema-check.ts";
import { ErrorLine, EventLine, type LineId, ReadyLine, ResultLine, type ServerLine } from "./messages.ts";

const fromServer: ReadonlyMap<string, Check<ServerLine>> = new Map<string, Check<ServerLine>>([
  ["ready", compileCheck(ReadyLine)],
  ["result", compileCheck(ResultLine)],
  ["error", compileCheck(ErrorLine)],
  ["event", compileCheck(EventLine)],
]);

export function decodeServerLine(line: string): Decoded<ServerLine> {
  const message = parseJson(line);
  if (message === undefined) return invalid("not JSON, or nested too deeply");
  if (!isObject(message) || typeof message["type"] !== "string")
    return invalid("no text in `type`", repliedId(message));
  const check = fromServer.get(message["type"]);
  if (check === undefined) return unknownKind(message["type"]);
  if (check.fits(message)) return ok(message);
  return invalid(`${message["type"]}: ${check.whyNot(message)}`, repliedId(message));
}

export function encodeCall(id: LineId, tool: string, args: JsonObject = {}): string {
  return `${JSON.stringify({ type: "call", id, tool, args })}\n`;
}

export function encodeQuit(): string {
  return '{"type":"quit"}\n';
}
