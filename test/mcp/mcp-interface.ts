/** Calls of the scenarios over /mcp, converted to REST's format, so that the same scenarios apply to both. */
import { errorKinds } from "@tendon/gateway";
import type { ErrorCode } from "@tendon/protocol";
import type { Answer, Json } from "../http-client.ts";
import type { Site } from "../site.ts";
import type { CallInterface } from "../transport.ts";
import { modern, say } from "./rpc.ts";

interface Result {
  readonly content: Json[];
  readonly isError?: boolean;
  readonly structuredContent?: Json;
  readonly _meta: { readonly [key: string]: { [key: string]: Json } };
}

const tokens = new WeakMap<Site, Promise<string>>();

/** Over MCP even an administrator is an agent: user-only tools need a token with `call:user`. */
function tokenOf(site: Site): Promise<string> {
  const known = tokens.get(site);
  if (known !== undefined) return known;
  const request = { name: "mcp-agent", scopes: ["read", "call", "call:user"] };
  const made = site.rest("POST", "/tokens", request).then(({ body }) => String(body["token"]));
  tokens.set(site, made);
  return made;
}

export const mcpInterface: CallInterface = async (site, device, tool, args, more): Promise<Answer> => {
  const params = { name: "device_call", arguments: { device, tool, arguments: args, ...more } };
  const answer = await say(site, { ...modern("tools/call", params), token: await tokenOf(site) });
  const { result } = answer.body as unknown as { result: Result };
  const { content, isError = false, structuredContent, _meta } = result;
  const failed = _meta["tendon/error"];
  if (failed !== undefined) {
    const code = String(failed["code"]) as ErrorCode;
    const [first] = content as { text: string }[];
    const detail =
      first?.text.slice(code.length + 2).split(/\n(?:last known state: |Do not repeat it)/)[0] ?? "";
    return { ...answer, status: errorKinds[code].status, body: { ...failed, detail } };
  }
  const structured = structuredContent === undefined ? {} : { structuredContent };
  return {
    ...answer,
    body: { ..._meta["tendon/call"], result: { content, isError, ...structured } as unknown as Json },
  };
};
