/**
 * Lines of the simulated home's protocol, both ways. Decoding takes one line without its newline and gives ok,
 * unknown or invalid; encoding gives one line with it.
 */
import { type Decoded, invalid, isObject, type JsonObject, ok, parseJson, unknownKind } from "../outcome.ts";
import { type Check, compileCheck } from "../schema-check.ts";
import {
  CallLine,
  type ClientLine,
  ErrorLine,
  EventLine,
  type LineId,
  type LineTool,
  QuitLine,
  ReadyLine,
  ResultLine,
  type ServerLine,
} from "./messages.ts";

const fromServer: ReadonlyMap<string, Check<ServerLine>> = new Map<string, Check<ServerLine>>([
  ["ready", compileCheck(ReadyLine)],
  ["result", compileCheck(ResultLine)],
  ["error", compileCheck(ErrorLine)],
  ["event", compileCheck(EventLine)],
]);

const fromClient: ReadonlyMap<string, Check<ClientLine>> = new Map<string, Check<ClientLine>>([
  ["call", compileCheck(CallLine)],
  ["quit", compileCheck(QuitLine)],
]);

export function decodeServerLine(line: string): Decoded<ServerLine> {
  return decode(fromServer, line);
}

export function decodeClientLine(line: string): Decoded<ClientLine> {
  return decode(fromClient, line);
}

export function encodeCall(id: LineId, tool: string, args: JsonObject = {}): string {
  return write({ type: "call", id, tool, args });
}

export function encodeQuit(): string {
  return write({ type: "quit" });
}

export function encodeReady(version: string, tools: readonly LineTool[]): string {
  return write({ type: "ready", version, tools: [...tools] });
}

export function encodeResult(id: LineId, result: unknown): string {
  return write({ type: "result", id, ok: true, result });
}

export function encodeError(id: LineId | null, error: string): string {
  return write({ type: "error", id, ok: false, error });
}

export function encodeEvent(event: string, data: Record<string, unknown> = {}): string {
  return write({ type: "event", event, data });
}

function decode<Message>(checks: ReadonlyMap<string, Check<Message>>, line: string): Decoded<Message> {
  const message = parseJson(line);
  if (message === undefined) return invalid("not JSON, or nested too deeply");
  if (!isObject(message) || typeof message["type"] !== "string") return invalid("no text in `type`");
  const check = checks.get(message["type"]);
  if (check === undefined) return unknownKind(message["type"]);
  return check.fits(message) ? ok(message) : invalid(`${message["type"]}: ${check.whyNot(message)}`);
}

function write(message: ServerLine | ClientLine): string {
  return `${JSON.stringify(message)}\n`;
}
