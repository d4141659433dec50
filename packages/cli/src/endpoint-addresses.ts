/** Where programs and voice servers dial in. Both append their token, because they can send it in no other way. */
export function endpointAddresses(gateway: string): { readonly programs: string; readonly voice: string } {
  const base = `${gateway.replace(/^http/, "ws")}/mcp_endpoint`;
  return { programs: `${base}/mcp/?token=…`, voice: `${base}/call/?token=…` };
}
