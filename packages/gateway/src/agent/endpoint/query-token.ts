/** Tokens in the address [END-10]: the peers of the endpoint cannot send them in any other way. */
import { createDecipheriv } from "node:crypto";
import { isObject, parseJson } from "@tendon/protocol";
import type { Principal } from "../../access/access.ts";

const keyLengths = [16, 24, 32];
const blockBytes = 16;
const maxBytes = 1_024;

/** Only these are accepted in an address, because addresses end up in the logs of others. */
export function isForQuery({ scopes }: Principal): boolean {
  return (
    scopes.has("endpoint") && !scopes.has("admin") && !scopes.has("provision") && !scopes.has("call:user")
  );
}

/** The agent of a token of the former endpoint server: AES in ECB mode over `{"agentId":"…"}`; `undefined` if it is none. */
export function agentOfAesToken(token: string, keyText: string): string | undefined {
  const given = Buffer.from(keyText);
  const key = keyLengths.includes(given.byteLength) ? given : Buffer.concat([given, Buffer.alloc(32)], 32);
  // An unescaped plus sign in a query is read as a space.
  const sealed = Buffer.from(token.replaceAll(" ", "+"), "base64");
  if (sealed.byteLength === 0 || sealed.byteLength > maxBytes || sealed.byteLength % blockBytes !== 0)
    return undefined;
  try {
    const cipher = createDecipheriv(`aes-${key.byteLength * 8}-ecb`, key, null);
    const plain = parseJson(Buffer.concat([cipher.update(sealed), cipher.final()]).toString());
    const agent = isObject(plain) ? plain["agentId"] : undefined;
    return typeof agent === "string" && agent !== "" ? agent.slice(0, 128) : undefined;
  } catch {
    return undefined;
  }
}
