/** What a voice agent says about the board that it talks with: fields of vendors in `params` and in `_meta` [END-3]. */
import { type CallAsker, cleanLine, isObject, type JsonObject } from "@tendon/protocol";

const maxLength = 64;
const shownOfClientId = 8;
const vendorKeys = new Set(["clientId", "serialNumber", "agentId"]);

/** Without `device`, which the gateway has to look up. */
export function askerIn(params: JsonObject): CallAsker | undefined {
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const serialNumber = textOf(params["serialNumber"] ?? meta["serialNumber"]);
  const clientId = textOf(params["clientId"] ?? meta["clientId"]);
  const agentId = textOf(params["agentId"] ?? meta["agentId"]);
  if (serialNumber === undefined && clientId === undefined && agentId === undefined) return undefined;
  return {
    ...(serialNumber === undefined ? {} : { serialNumber }),
    ...(clientId === undefined ? {} : { clientId: `${clientId.slice(0, shownOfClientId)}…` }),
    ...(agentId === undefined ? {} : { agentId }),
  };
}

/** The parameters of the protocol alone. A null is as good as nothing to these peers, and `_meta` has only progress. */
export function plainParams(params: JsonObject): JsonObject {
  const { _meta, ...rest } = params;
  const progressToken = isObject(_meta) ? _meta["progressToken"] : undefined;
  const plain = Object.fromEntries(
    Object.entries(rest).filter(([key, value]) => value !== null && !vendorKeys.has(key)),
  );
  const keepsToken = typeof progressToken === "string" || Number.isInteger(progressToken);
  return keepsToken ? { ...plain, _meta: { progressToken } } : plain;
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = cleanLine(String(value), maxLength);
  return text === "" ? undefined : text;
}
