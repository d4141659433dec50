/** What a person in front of the board reads when the voice server fails [VOI-9]. Short: some screens are tiny. */
import type { UpstreamEnd } from "./upstream.ts";

const messages: Readonly<Record<UpstreamEnd["kind"], string>> = {
  unreachable: "The voice server cannot be reached. Try again later.",
  refused: "The voice server does not let this device in.",
  inactive: "This device has to be activated at its voice server.",
  silent: "The voice server does not answer. Try again later.",
  closed: "The voice server ended the conversation.",
  broken: "The connection to the voice server broke off. Try again.",
  flooded: "The voice server sends too much. The conversation was ended.",
  stalled: "The voice server is too slow. Try again later.",
  left: "The conversation was ended.",
};

export function alertText(sessionId: string, { kind, code }: UpstreamEnd): string {
  return JSON.stringify({
    type: "alert",
    session_id: sessionId,
    status: "No voice",
    message: code === undefined ? messages[kind] : `${messages[kind]} Code: ${code}`,
    emotion: "sad",
  });
}
