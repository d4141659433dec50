/** The voice half of the composition: which board talks to which voice server, by the settings and the services's tags. */
import fs from "node:fs";
import type { Principal } from "../access/access.ts";
import type { Services } from "../agent/agent.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { OtaUpstream } from "../device/device.ts";
import { messageOf, StartError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { SealedKeys } from "../provisioning/provisioning.ts";
import type { Store } from "../store/store.ts";
import {
  type AccountShelf,
  type BoardTools,
  UdpAudio,
  UpstreamOta,
  VoiceAccounts,
  VoiceRelay,
  type VoiceServer,
} from "../voice/voice.ts";

export interface VoiceNeeds {
  readonly config: Config;
  readonly clock: Clock;
  readonly events: Events;
  readonly services: Services;
  readonly store: Store;
  /** What accounts at voice servers are sealed with. */
  readonly secret: string;
  /** The host boards are told to send their audio to. */
  readonly audioHost: () => string;
}

export interface VoiceLink {
  readonly relay: VoiceRelay;
  readonly udp: UdpAudio;
  /** For the OTA address: voice servers that have one too. */
  readonly ota: OtaUpstream;
  stop(): void;
}

type Settings = Config["voice"]["upstream"][number];

interface Upstream {
  readonly settings: Settings;
  readonly server: VoiceServer;
}

/** `undefined` where no voice server is configured: boards are for tools only. */
export async function openVoice({
  config,
  clock,
  events,
  services,
  store,
  secret,
  audioHost,
}: VoiceNeeds): Promise<VoiceLink | undefined> {
  if (config.voice.upstream.length === 0) return undefined;
  const upstreams = voiceServers(config.voice);
  const udp = new UdpAudio(clock, events);
  try {
    await udp.listen(config.http.host, config.voice.udpPort);
  } catch (error) {
    udp.stop();
    throw error;
  }
  const accounts = new VoiceAccounts(clock, new UpstreamOta(clock), accountShelf(store, secret));
  const tools = boardTools(services);
  const voiceServerOf = (deviceId: string) => choose(upstreams, deviceId, services);
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

/** A voice server is a caller like any other, limited to the one board it talks to and to tools for agents. */
function principalFor(deviceId: string): Principal {
  return {
    id: "voice-server",
    name: "voice-server",
    scopes: new Set(["read", "call"]),
    devices: { ids: new Set([deviceId]), tags: new Set() },
  };
}

function boardTools(services: Services): BoardTools {
  return {
    async list(deviceId) {
      const { tools } = await services.fleet.tools(principalFor(deviceId), deviceId, false);
      return tools
        .filter(({ access }) => access !== "denied")
        .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    },
    about(deviceId) {
      const { board, firmware, protocolVersion } = services.fleet.device(principalFor(deviceId), deviceId);
      return { board, firmware, protocolVersion };
    },
    async call(deviceId, tool, args, options) {
      const principal = principalFor(deviceId);
      const { result } = await services.calls.call(principal, deviceId, tool, args, {
        ...options,
        lane: "voice",
      });
      // Voice servers know texts; a picture taken for one has been explained, and stays here.
      const texts = result.content.filter(({ type }) => type === "text");
      return { content: texts.length > 0 ? texts : result.content, isError: result.isError };
    },
  };
}

/** Sealed each for its device, with a secret that is not in the database. */
function accountShelf(store: Store, secret: string): AccountShelf {
  const seals = new SealedKeys(secret, "tendon voice accounts");
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

/** The entry for the device itself, else the first for one of its tags, else the one for everybody. */
function choose(
  upstreams: readonly Upstream[],
  deviceId: string,
  services: Services,
): VoiceServer | undefined {
  const tags = services.fleet.tagsOf(deviceId);
  const found =
    upstreams.find(
      ({ settings: { device } }) => device !== undefined && services.fleet.idOf(device) === deviceId,
    ) ??
    upstreams.find(
      ({ settings: { device, tag } }) => device === undefined && tag !== undefined && tags.includes(tag),
    ) ??
    upstreams.find(({ settings: { device, tag } }) => device === undefined && tag === undefined);
  return found?.server;
}

/** Throws a StartError where an entry does not say enough, or its token cannot be read. */
export function voiceServers({ upstream, token }: Config["voice"]): Upstream[] {
  return upstream.map((settings) => ({ settings, server: serverOf(settings, token) }));
}

function serverOf(settings: Settings, commonToken: string | undefined): VoiceServer {
  const { url, ota, signIn = "device", framing = 1, vision = "upstream" } = settings;
  if (signIn === "ota") {
    if (ota === undefined)
      throw new StartError("An entry of voice.upstream signs in by OTA and has no `ota`.");
    return { framing, vision, signIn: { by: "ota", ota, url } };
  }
  if (url === undefined) throw new StartError("An entry of voice.upstream has no `url`.");
  if (signIn !== "token") return { framing, vision, signIn: { by: "device", url } };
  const token = settings.tokenFile === undefined ? (settings.token ?? commonToken) : read(settings.tokenFile);
  if (token === undefined || token === "") {
    throw new StartError(
      `voice.upstream ${url} signs in by token and has none: set tokenFile, or TENDON_VOICE_TOKEN.`,
    );
  }
  return { framing, vision, signIn: { by: "token", url, token } };
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new StartError(`${file} cannot be read (${messageOf(error)}).`);
  }
}
