import type { Exchange } from "./exchange.ts";

/** An answer in JSON-RPC's words to a request that never reaches the SDK. */
export function rpcError(
  exchange: Exchange,
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  exchange.send(status, { jsonrpc: "2.0", id: null, error: { code, message } }, headers);
}
