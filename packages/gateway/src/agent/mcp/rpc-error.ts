/** An answer in JSON-RPC's words to a request that never reaches the SDK. */
export function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
}
