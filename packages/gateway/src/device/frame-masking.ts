/** Texts as they may be kept for whoever looks for a fault: how it went, not what was said, and no keys. */
import { isObject, parseJson } from "@tendon/protocol";

const told = ["type", "state", "mode", "command", "reason", "session_id"];

/** Of a conversation only its course: `tts` `start`, not the sentence. MCP is no conversation. */
export function withoutWords(text: string): string {
  const message = parseJson(text);
  if (!isObject(message)) return "(not JSON)";
  if (message["type"] === "mcp" || message["type"] === "alert") return text;
  if (message["type"] === "hello") return withoutKey(text);
  return JSON.stringify(
    Object.fromEntries(told.flatMap((key) => (key in message ? [[key, message[key]]] : []))),
  );
}

/** The answer to a hello over MQTT has the key of that session's audio in it. */
export function withoutKey(text: string): string {
  return text.replace(/"key":"[0-9a-f]{32}"/, '"key":"(hidden)"');
}
