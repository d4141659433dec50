/** [VOI-1] The address and credentials for a board's conversation. They always include the board's own identity. */

import type { VoiceBoard } from "../device/device.ts";
import type { OtaIdentity } from "../provisioning/provisioning.ts";
import type { VoiceAccounts } from "./accounts.ts";
import type { AudioPath } from "./audio-path.ts";
import type { UpstreamTarget } from "./upstream-connection.ts";

export type SignIn =
  | { readonly by: "device"; readonly url: string }
  | { readonly by: "token"; readonly url: string; readonly token: string }
  /** The OTA address also returns the WebSocket address, which `url` overrides. */
  | { readonly by: "ota"; readonly ota: string; readonly url: string | undefined };

export interface SignInDependencies {
  readonly accounts: VoiceAccounts;
  /** The board type and firmware version, for the request to the OTA address. */
  readonly about: (deviceId: string) => { readonly board: string | null; readonly firmware: string | null };
}

/** The target of a board's conversation. `renewed`: the voice server rejected the earlier credentials. */
export async function targetOf(
  signIn: SignIn,
  board: VoiceBoard,
  framing: AudioPath["framing"],
  dependencies: SignInDependencies,
  renewed: boolean,
): Promise<UpstreamTarget> {
  const { url, token } = await settingsOf(signIn, board, dependencies, renewed);
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
  { accounts, about }: SignInDependencies,
  renewed: boolean,
): Promise<{ readonly url: string; readonly token: string | undefined }> {
  switch (signIn.by) {
    case "device":
      return { url: signIn.url, token: undefined };
    case "token":
      return signIn;
    case "ota": {
      const { deviceId, clientId = "" } = board;
      const identity = otaIdentity(deviceId, clientId, about(deviceId));
      const given = await accounts.settingsFor(signIn.ota, identity, renewed);
      return { url: signIn.url ?? given.url, token: given.token };
    }
    default:
      return signIn satisfies never;
  }
}

/** What a board sends to the OTA address at its boot, as far as the gateway knows it. */
function otaIdentity(
  deviceId: string,
  clientId: string,
  { board, firmware }: ReturnType<SignInDependencies["about"]>,
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
