/** [VOI-1] As whom a board's conversation is opened: always with the board's own identity, and what else is asked for. */

import type { VoiceBoard } from "../device/device.ts";
import type { OtaIdentity } from "../provisioning/provisioning.ts";
import type { VoiceAccounts } from "./accounts.ts";
import type { AudioWay } from "./audio-path.ts";
import type { UpstreamTarget } from "./upstream.ts";

export type SignIn =
  | { readonly by: "device"; readonly url: string }
  | { readonly by: "token"; readonly url: string; readonly token: string }
  /** The OTA address gives the address as well, unless the settings have one. */
  | { readonly by: "ota"; readonly ota: string; readonly url: string | undefined };

export interface SignInNeeds {
  readonly accounts: VoiceAccounts;
  /** What a board is called and runs, for an OTA address that wants to know. */
  readonly about: (deviceId: string) => { readonly board: string | null; readonly firmware: string | null };
}

/** Where a board's conversation goes and as whom. `renewed`: what was given before has been refused. */
export async function targetOf(
  signIn: SignIn,
  board: VoiceBoard,
  framing: AudioWay["framing"],
  needs: SignInNeeds,
  renewed: boolean,
): Promise<UpstreamTarget> {
  const { url, token } = await settingsOf(signIn, board, needs, renewed);
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

async function settingsOf(
  signIn: SignIn,
  board: VoiceBoard,
  { accounts, about }: SignInNeeds,
  renewed: boolean,
): Promise<{ readonly url: string; readonly token: string | undefined }> {
  switch (signIn.by) {
    case "device":
      return { url: signIn.url, token: undefined };
    case "token":
      return signIn;
    case "ota": {
      const { deviceId, clientId = "" } = board;
      const identity = introduction(deviceId, clientId, about(deviceId));
      const given = await accounts.settingsFor(signIn.ota, identity, renewed);
      return { url: signIn.url ?? given.url, token: given.token };
    }
    default:
      return signIn satisfies never;
  }
}

/** What a board would say of itself at its boot, as far as it is known here. */
function introduction(
  deviceId: string,
  clientId: string,
  { board, firmware }: ReturnType<SignInNeeds["about"]>,
): OtaIdentity {
  const name = board ?? "unknown";
  const version = firmware ?? "0.0.0";
  return {
    deviceId,
    clientId,
    headers: { "Activation-Version": "1", "User-Agent": `${name}/${version}` },
    body: JSON.stringify({
      version: 2,
      mac_address: deviceId,
      uuid: clientId,
      application: { name: "xiaozhi", version },
      board: { type: name, name, mac: deviceId },
    }),
  };
}
