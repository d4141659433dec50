import type { Exchange } from "./exchange.ts";

/** A JSON-RPC error for a request that does not reach the SDK. */
export function rpcError(
  exchange: Exchange,
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  exchange.send(status, { jsonrpc: "2.0", id: null, error: { code, message } }, headers);
}
