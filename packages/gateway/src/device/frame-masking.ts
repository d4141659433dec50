/** Masks texts for the frame log: no speech and no keys. */
import { isObject, parseJson } from "@tendon/protocol";

const loggedFields = ["type", "state", "mode", "command", "reason", "session_id"];

/** Keeps only the control fields of a conversation, such as `tts` `start`, without the sentence. MCP stays whole. */
export function withoutSpeech(text: string): string {
  const message = parseJson(text);
  if (!isObject(message)) return "(not JSON)";
  if (message["type"] === "mcp" || message["type"] === "alert") return text;
  if (message["type"] === "hello") return withoutKey(text);
  return JSON.stringify(
    Object.fromEntries(loggedFields.flatMap((key) => (key in message ? [[key, message[key]]] : []))),
  );
}

/** The reply to a hello over MQTT contains the key of the session's audio. */
export function withoutKey(text: string): string {
  return text.replace(/"key":"[0-9a-f]{32}"/, '"key":"(hidden)"');
}
