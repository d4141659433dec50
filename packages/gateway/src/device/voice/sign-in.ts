/** [VOI-1] As whom a board's conversation is opened: always with the board's own identity, and what else is asked for. */
import type { UpstreamTarget } from "./upstream.ts";
import type { AudioWay, VoiceBoard } from "./voice-board.ts";

export type SignIn =
  | { readonly by: "device" }
  | { readonly by: "token"; readonly token: string }
  | { readonly by: "ota"; readonly url: string };

export function targetWith(
  url: string,
  token: string | undefined,
  board: VoiceBoard,
  framing: AudioWay["framing"],
): UpstreamTarget {
  return {
    url,
    headers: {
      ...(token === undefined ? {} : { Authorization: token.includes(" ") ? token : `Bearer ${token}` }),
      "Protocol-Version": String(framing),
      "Device-Id": board.deviceId,
      ...(board.clientId === undefined ? {} : { "Client-Id": board.clientId }),
    },
  };
}
