/** Arguments and answer of a call in short, for a row of a list. Secrets are masked. */
import { type CallHistory, isObject, type JsonObject, parseJson } from "@tendon/protocol";
import { valueWithoutSecrets, withoutSecrets } from "../secret-masking.ts";
import type { RecentCall } from "./call-traces.ts";

type Preview = NonNullable<CallHistory["calls"][number]["preview"]>;

const maxLength = 120;

/** `undefined` if nothing is known about the call. `withAnswer`: whether the reader may see the answer. */
export function callPreview(recent: RecentCall | undefined, withAnswer: boolean): Preview | undefined {
  if (recent === undefined) return undefined;
  const args = recent.arguments === undefined ? undefined : parseJson(recent.arguments);
  const content = withAnswer ? (recent.answer?.result.content ?? []) : [];
  const text = content.find(({ type }) => type === "text")?.["text"];
  const answer = recent.detail ?? (typeof text === "string" ? sentenceIn(text) : undefined);
  return {
    ...(isObject(args) ? { arguments: shortened(argumentsInShort(args)) } : {}),
    ...(answer === undefined ? {} : { answer: shortened(withoutSecrets(answer)) }),
    ...(content.some(({ type }) => type === "image") ? { picture: true as const } : {}),
  };
}

/** The sentence in a vision server's reply, which boards pass on as their answer; any other text as it is. */
function sentenceIn(text: string): string {
  const reply = text.startsWith("{") ? parseJson(text) : undefined;
  if (!isObject(reply) || typeof reply["success"] !== "boolean") return text;
  const { result, message } = reply;
  return typeof result === "string" ? result : typeof message === "string" ? message : text;
}

/** `volume: 20, room: "kitchen"`. */
function argumentsInShort(args: JsonObject): string {
  // Safe: masking an object returns an object.
  return Object.entries(valueWithoutSecrets(args) as JsonObject)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ");
}

function shortened(text: string): string {
  const line = text
    .slice(0, 2 * maxLength)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1)}…`;
}
