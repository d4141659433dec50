import { readFileSync } from "node:fs";

/** A recording of the firmware: one JSON object per line. */
export function readFixture<Row>(name: string): Row[] {
  const text = readFileSync(new URL(`./fixtures/${name}.jsonl`, import.meta.url), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

/** The envelope exactly as the firmware builds it, without escaping. */
export function envelope(payload: string, sessionId = "s"): string {
  return `{"session_id":"${sessionId}","type":"mcp","payload":${payload}}`;
}

/** An error reply as the firmware builds it; with `code` for firmware that has one. */
export function pastedError(message: string, id: number | string = 1, code?: number | string): string {
  const before = code === undefined ? "" : `"code":${code},`;
  return envelope(`{"jsonrpc":"2.0","id":${id},"error":{${before}"message":"${message}"}}`);
}

export function nested(levels: number, open = "[", close = "]"): string {
  return open.repeat(levels) + close.repeat(levels);
}
