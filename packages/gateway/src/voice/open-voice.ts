/** Opens the relay as configured: a voice server for one board, for boards with a tag, or for all boards. */
import fs from "node:fs";
import type { Principal } from "../access/access.ts";
import type { Calls } from "../calls/calls.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { OtaUpstream } from "../provisioning/provisioning.ts";
import type { Store } from "../store/store.ts";
import { type AccountStore, VoiceAccounts } from "./accounts.ts";
import { VoiceRelay, type VoiceServer } from "./relay.ts";
import { UdpAudio } from "./udp-audio.ts";
import { UpstreamOta } from "./upstream-ota.ts";
import type { BoardTools } from "./upstream-tools.ts";

export interface VoiceDependencies {
  readonly config: Config;
  readonly clock: Clock;
  readonly events: Events;
  readonly fleet: Fleet;
  readonly calls: Calls;
  readonly store: Pick<Store, "voiceAccounts">;
  /** Encrypts the stored accounts, each for its device. */
  readonly seals: Seals;
  /** The host that boards send their audio to. */
  readonly audioHost: () => string;
}

interface Seals {
  seal(deviceId: string, secret: Buffer): string;
  open(deviceId: string, sealed: string): Buffer | undefined;
}

export interface OpenedVoice {
  readonly relay: VoiceRelay;
  readonly udp: UdpAudio;
  /** For the gateway's OTA address: voice servers that have their own. */
  readonly ota: OtaUpstream;
  stop(): void;
}

type Settings = Config["voice"]["upstream"][number];

interface Upstream {
  readonly settings: Settings;
  readonly server: VoiceServer;
}

/** `undefined` if no voice server is configured. */
export async function openVoice({
  config,
  clock,
  events,
  fleet,
  calls,
  store,
  seals,
  audioHost,
}: VoiceDependencies): Promise<OpenedVoice | undefined> {
  if (config.voice.upstream.length === 0) return undefined;
  const upstreams = voiceServers(config.voice);
  const udp = new UdpAudio(clock, events);
  try {
    await udp.listen(config.http.host, config.voice.udpPort);
  } catch (error) {
    udp.stop();
    throw error;
  }
  const accounts = new VoiceAccounts(clock, new UpstreamOta(clock), accountStore(store, seals));
  const tools = boardTools(fleet, calls);
  const voiceServerOf = (deviceId: string) => choose(upstreams, deviceId, fleet);
  const relay = new VoiceRelay({
    accounts,
    about: (deviceId) => tools.about(deviceId),
    udp,
    audioHost,
    clock,
    events,
    random: Math.random,
    tools,
    keepTexts: config.voice.keepTexts,
    serverOf: voiceServerOf,
  });
  return {
    relay,
    udp,
    ota: otaUpstream(accounts, voiceServerOf, events),
    stop() {
      relay.stop();
      udp.stop();
    },
  };
}

/** A voice server is a principal that is limited to its board and to the tools for agents. */
function principalFor(deviceId: string): Principal {
  return {
    id: "voice-server",
    name: "voice-server",
    scopes: new Set(["read", "call"]),
    devices: { ids: new Set([deviceId]), tags: new Set() },
  };
}

function boardTools(fleet: Fleet, calls: Calls): BoardTools {
  return {
    async list(deviceId) {
      const { tools } = await fleet.tools(principalFor(deviceId), deviceId, false);
      return tools
        .filter(({ access }) => access !== "denied")
        .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    },
    about(deviceId) {
      const { board, firmware, protocolVersion } = fleet.device(principalFor(deviceId), deviceId);
      return { board, firmware, protocolVersion };
    },
    async call(deviceId, tool, args, options) {
      const principal = principalFor(deviceId);
      const { result } = await calls.call(principal, deviceId, tool, args, {
        ...options,
        lane: "voice",
        origin: { via: "voice" },
      });
      // Voice servers understand texts only. A photo has already been described, so it is dropped.
      const texts = result.content.filter(({ type }) => type === "text");
      return { content: texts.length > 0 ? texts : result.content, isError: result.isError };
    },
  };
}

function accountStore(store: VoiceDependencies["store"], seals: Seals): AccountStore {
  return {
    async read(deviceId) {
      const sealed = await store.voiceAccounts.get(deviceId);
      return sealed === undefined ? undefined : seals.open(deviceId, sealed)?.toString();
    },
    write: (deviceId, account) =>
      store.voiceAccounts.set(deviceId, seals.seal(deviceId, Buffer.from(account))),
  };
}

function otaUpstream(
  accounts: VoiceAccounts,
  serverFor: (deviceId: string) => VoiceServer | undefined,
  events: Events,
): OtaUpstream {
  const otaOf = (deviceId: string) => {
    const signIn = serverFor(deviceId)?.signIn;
    return signIn?.by === "ota" ? signIn.ota : undefined;
  };
  return {
    async activationFor(identity) {
      const ota = otaOf(identity.deviceId);
      if (ota === undefined) return undefined;
      try {
        return await accounts.activationFor(ota, identity);
      } catch (error) {
        events.voiceOtaFailed(identity.deviceId, messageOf(error));
        return undefined;
      }
    },
    async activate(identity) {
      const ota = otaOf(identity.deviceId);
      if (ota === undefined) return true;
      try {
        return await accounts.activate(ota, identity);
      } catch (error) {
        events.voiceOtaFailed(identity.deviceId, messageOf(error));
        return false;
      }
    },
  };
}

/** The entry for the device, else the first for one of its tags, else the one for all devices. */
function choose(upstreams: readonly Upstream[], deviceId: string, fleet: Fleet): VoiceServer | undefined {
  const tags = fleet.tagsOf(deviceId);
  const found =
    upstreams.find(({ settings: { device } }) => device !== undefined && fleet.idOf(device) === deviceId) ??
    upstreams.find(
      ({ settings: { device, tag } }) => device === undefined && tag !== undefined && tags.includes(tag),
    ) ??
    upstreams.find(({ settings: { device, tag } }) => device === undefined && tag === undefined);
  return found?.server;
}

/** Throws a StartError if an entry is incomplete or its token cannot be read. */
export function voiceServers({ upstream, token }: Config["voice"]): Upstream[] {
  return upstream.map((settings) => ({ settings, server: serverOf(settings, token) }));
}

function serverOf(settings: Settings, commonToken: string | undefined): VoiceServer {
  const { url, ota, signIn = "device", framing = 1, vision = "upstream" } = settings;
  if (signIn === "ota") {
    if (ota === undefined)
      throw new StartError(
        "An entry of voice.upstream has `signIn: ota` but no `ota`. Set `ota` to the OTA address of the voice server.",
      );
    return { framing, vision, signIn: { by: "ota", ota, url } };
  }
  if (url === undefined)
    throw new StartError(
      "An entry of voice.upstream has no `url`. Set it to the WebSocket address of the voice server.",
    );
  if (signIn !== "token") return { framing, vision, signIn: { by: "device", url } };
  const token = settings.tokenFile === undefined ? (settings.token ?? commonToken) : read(settings.tokenFile);
  if (token === undefined || token === "") {
    throw new StartError(
      `The entry ${url} of voice.upstream has \`signIn: token\` but no token. Set tokenFile or TENDON_VOICE_TOKEN.`,
    );
  }
  return { framing, vision, signIn: { by: "token", url, token } };
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new StartError(`The token file ${file} of voice.upstream cannot be read (${messageOf(error)}).`);
  }
}
