/** What the token in the address of an endpoint says about itself, if it is a JWT. Its signature is not checked. */
import { cleanLine, isObject, parseJson } from "@tendon/protocol";

export interface AddressToken {
  readonly agent: string | undefined;
  readonly expiresAt: number | undefined;
}

const nothing: AddressToken = { agent: undefined, expiresAt: undefined };

export function readAddressToken(url: URL): AddressToken {
  const parts = (url.searchParams.get("token") ?? "").split(".");
  if (parts.length !== 3) return nothing;
  const claims = parseJson(Buffer.from(parts[1] ?? "", "base64url").toString());
  if (!isObject(claims)) return nothing;
  const { agentId, exp } = claims;
  const named = typeof agentId === "string" || typeof agentId === "number";
  return {
    agent: named ? cleanLine(String(agentId), 64) : undefined,
    expiresAt: typeof exp === "number" && Number.isFinite(exp) ? exp * 1_000 : undefined,
  };
}
